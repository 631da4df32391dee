"""What a run means in money."""
