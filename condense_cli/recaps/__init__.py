"""What someone who goes on needs of a conversation, within a budget: its user's words, and a record of the work."""
