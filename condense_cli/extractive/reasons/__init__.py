"""Why lines of a text went or stayed, worked out when somebody asks."""
