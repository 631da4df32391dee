"""Lossless prelude: replace lines that another block repeats by references to it, which `restore` undoes."""
