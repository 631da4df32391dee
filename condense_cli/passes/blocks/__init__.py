"""Change single blocks: operations, cutting texts, state that is over."""
