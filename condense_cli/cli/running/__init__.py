"""Parts of `condense run` that other commands share: the work on a conversation, on many files, on rows; reports."""
