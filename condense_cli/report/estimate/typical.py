"""How much of what later work needs each preset typically keeps, as benchmarks/presets.py measured it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from ...quality.kept import KeptShare

FILE: Final = Path(__file__).with_name("typical_presets.json")


class Typical(Struct, frozen=True):
    """Figures by preset, of transcripts of projects that nothing was fitted to.

    `beats` are the presets that each as a rule keeps no less than where it leaves no more.
    """

    date: str
    condense: str
    transcripts: int
    cuts: int
    presets: dict[str, KeptShare]
    beats: dict[str, list[str]]


def typical() -> Typical:
    """The figures that come with the program."""
    return msgspec.json.decode(FILE.read_bytes(), type=Typical)
