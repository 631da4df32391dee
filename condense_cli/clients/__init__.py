"""Clients: where their sessions are, what they are called, and how condense is set up inside them."""
