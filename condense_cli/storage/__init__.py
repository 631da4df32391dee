"""Files: written whole or not at all, compressed, in place with a backup; caches and processes."""
