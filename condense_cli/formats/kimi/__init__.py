"""Wire logs of Kimi Code."""
