"""Rules of the APIs: one function per rule."""
