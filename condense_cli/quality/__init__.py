"""How much of what a conversation later needs is still there once it is condensed."""
