"""Measures that nothing is fitted to, each 0 where nothing is kept and 1 where everything is."""
