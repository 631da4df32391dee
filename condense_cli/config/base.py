"""What every part of a configuration is made of: frozen values that refuse unknown keys, and bounded numbers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Positive = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class Base(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass
