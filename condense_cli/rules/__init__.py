"""What an API refuses: one function per rule."""
