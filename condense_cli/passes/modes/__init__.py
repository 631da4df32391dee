"""The modes of passes: block by block, all texts together, or messages as one summary."""
