"""Configuration: its model, reading it with positions for errors, and the presets."""
