"""Runs of OpenHands, and event logs of its SDK."""
