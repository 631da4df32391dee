"""Values that everything works on, and knowledge of texts: tokens, markers, JSON, names, models."""
