"""Savings and costs of presets, side by side."""
