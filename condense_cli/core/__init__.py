"""The values that everything works on, and what is known of texts: tokens, markers, JSON, names, models."""
