"""What `condense evaluate` does besides presets: models side by side, recorded compactions, pages, pictures."""
