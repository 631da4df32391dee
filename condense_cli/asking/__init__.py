"""What a model may ask of the session that it works in: read only, known sessions alone, answers of bounded length."""
