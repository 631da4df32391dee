"""The name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to a mistyped one, if any is close."""
    import difflib  # Only mistakes need it.

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)
