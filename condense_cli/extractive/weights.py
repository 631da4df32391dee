"""Weights."""

from __future__ import annotations
from msgspec import Struct
from .mentions import FEATURES as F
from .editable import FEATURES as L


class Model(Struct, frozen=True):
    facts: tuple[float, ...]
    lines: tuple[float, ...]
    line: float = 1.0


MODEL = Model((0.0,) * len(F), (0.0,) * len(L))
