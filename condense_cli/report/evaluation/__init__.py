"""Reports of measured presets, recorded compactions, and models."""
