"""Words and tables that reports share."""
