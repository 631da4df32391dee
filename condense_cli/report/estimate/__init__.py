"""What presets would save and keep, side by side."""
