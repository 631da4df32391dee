"""The presets of the package as they are written down, so that no run has to read their files."""
