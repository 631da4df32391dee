"""The sessions that clients keep on this machine: where they are, what they are called, how large they are."""
