"""Tables of pages."""

from __future__ import annotations

from msgspec import Struct


class Table(Struct, frozen=True):
    """A small table; a heading may be empty. A column of nothing but numbers is set flush right."""

    title: str
    columns: list[str]
    rows: list[list[str]]
