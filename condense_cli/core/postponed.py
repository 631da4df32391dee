"""Modules that libraries import and a command hardly ever needs: each is imported once something of it is used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Final

OF_TYPER: Final = ("bz2", "ipaddress", "linecache", "lzma", "shellingham", "subprocess", "tokenize")
"""Modules that Typer imports and rarely uses: an eighth of the time until a help page."""

OF_MSGSPEC: Final = ("typing_extensions",)
"""Not needed: msgspec then looks in `typing`. Importing it takes a fifteenth of a small run."""


OF_PRICES: Final = ("asyncio", "httpx2")
"""With these genai-prices gets newer prices, which nobody asks it for: almost half of the time of importing it."""


class _Postponed(ModuleType):
    """Replaces a module that was not imported yet; the first use imports it."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def postponed(names: tuple[str, ...]) -> Iterator[None]:
    """Make imports of these modules lazy meanwhile: each is imported once something of it is used."""
    stand_ins = {name: _Postponed(name) for name in names if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name, stand_in in stand_ins.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]


@contextmanager
def absent(names: tuple[str, ...]) -> Iterator[None]:
    """Make these modules impossible to import meanwhile, for code that works as well without them."""
    missing = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(missing))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]
