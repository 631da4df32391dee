"""Compute what models cost: prices, bills, and when condensing pays."""
