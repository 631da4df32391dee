"""What formats share: containers, turns, text of the client, and writing a file back with its own bytes."""
