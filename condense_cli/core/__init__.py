"""Values that everything works on, and knowledge of texts: markers, JSON, selectors."""
