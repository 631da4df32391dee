"""Compute what models cost and how much fits into them: prices, windows, and when condensing pays."""
