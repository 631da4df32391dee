"""What every part of a configuration is made of: frozen values that refuse unknown keys, numbers, what parts share."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Positive = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class Base(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class SummaryCheck(Base, frozen=True, kw_only=True):
    """What a model's summary must still hold: `min_facts` is a share of the main facts; 0 asks for nothing."""

    min_facts: Annotated[float, Meta(ge=0, le=1)] = 0.2
