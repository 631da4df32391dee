"""What is done to a single block: operations, cutting texts, state that is over."""
