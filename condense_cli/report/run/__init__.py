"""The facts of a run, and how they are shown."""
