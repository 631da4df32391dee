"""Shared by all formats: containers, blocks, text of the client, and writing a file back with its own bytes."""
