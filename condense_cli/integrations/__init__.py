"""Live in agent loops of other frameworks, one file each, which imports its framework (docs/live.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..storage.extras import how_to_install


@contextmanager
def needs(package: str, extra: str) -> Iterator[None]:
    """Import a package that may be missing. Raises ImportError that says how to install it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"This needs {package}: {how_to_install(extra)} ({error})") from error
