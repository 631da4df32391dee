"""Compute what models cost: the table of prices and windows, bills, and when condensing pays."""
