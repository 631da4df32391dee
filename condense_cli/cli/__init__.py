"""The command `condense`: one file per command."""

from __future__ import annotations


def main() -> None:
    """Entry point of the command."""
    from .app import app

    app()
