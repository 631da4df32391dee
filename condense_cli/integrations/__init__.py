"""Live in the agent loops of others. Each file is for one of them, and imports it: see docs/frameworks.md."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(package: str, extra: str) -> Iterator[None]:
    """Imports that need a package of someone else. Raises ImportError with what installs it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"This needs {package}: pip install 'condense-cli[{extra}]' ({error})") from error
