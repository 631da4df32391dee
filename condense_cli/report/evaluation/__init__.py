"""What came of measuring presets, recorded compactions, and models."""
