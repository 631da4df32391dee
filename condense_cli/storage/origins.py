"""Where a condensed session is from: a small file beside it that names the original in the same folder.

The clients look for other names, and the session itself stays as its client would write it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import CondenseError
from .files import create_bytes, holds

SUFFIX: Final = ".condense-origin"
_LARGEST: Final = 4_096
_MOST: Final = 100
"""Sessions that were condensed one from the other."""


def write_origin(session: Path, original: Path) -> None:
    """Note beside a session which one it was condensed from. What cannot be noted is no reason to fail."""
    data = json.dumps({"version": 1, "origin": original.name}).encode()
    with contextlib.suppress(CondenseError, OSError):
        beside = _beside(session)
        if beside.exists() and not holds(beside, data):
            beside.unlink()
        create_bytes(beside, data, like=session)


def origin_of(session: str | Path) -> Path | None:
    """The session that this one was condensed from; None where nobody knows, or it is gone."""
    session = Path(session)
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError, KeyError):
        with _beside(session).open("rb") as file:
            name = json.loads(file.read(_LARGEST))["origin"]
        original = session.with_name(name)
        if original.name != session.name and original.is_file():
            return original
    return None


def origins_of(session: str | Path) -> Iterator[Path]:
    """The session that this one was condensed from, that one's own, and so on."""
    seen = {Path(session).name}
    found = origin_of(session)
    while found is not None and found.name not in seen and len(seen) < _MOST:
        seen.add(found.name)
        yield found
        found = origin_of(found)


def _beside(session: Path) -> Path:
    return session.with_name(session.name + SUFFIX)
