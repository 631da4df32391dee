"""The lossless prelude: lines that stand again in another block become a reference to it, and `restore` undoes that."""
