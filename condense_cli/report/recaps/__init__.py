"""The recap of a conversation as facts."""
