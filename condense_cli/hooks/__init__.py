"""Hooks that clients run at their events. They must end at once if there is nothing to do, so imports come late."""
