"""Settings of clients: what is put into them, shown before it is written, and taken out again."""
