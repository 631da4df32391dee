"""What runs inside clients, at their events. With nothing to do it must be over at once: imports come where needed."""
