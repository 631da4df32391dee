"""Lists and answers: sessions, profiles, providers, settings, checks."""
