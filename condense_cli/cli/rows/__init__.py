"""Sets of rows: what the commands do with a file that holds many conversations."""
