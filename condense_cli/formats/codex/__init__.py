"""Rollouts of Codex CLI."""
