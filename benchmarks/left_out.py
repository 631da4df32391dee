"""Provide extraction weights fitted without a session's project, so that figures are not too good.

`train_extraction.py --write` divides the projects into folds and writes to `folds.json` the weights fitted without each
fold. Sessions of these projects are measured with their fold's weights, all others with the product's.

A project's name is the last word before `__` in the file's name, or the file's first word. If one name begins with
another, they may be one project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from condense_cli import api
from condense_cli.config.models import Configuration
from condense_cli.core.transcript import Message
from condense_cli.extractive import likelihood
from condense_cli.extractive.likelihood import FEATURES as OF_FACTS
from condense_cli.extractive.likelihood import Model
from condense_cli.extractive.versions import FEATURES as OF_LINES
from condense_cli.quality.cases import Case
from condense_cli.tokens.factor import AS_COUNTED

FILE: Final = Path(__file__).with_name("folds.json")


class Fold(Struct, frozen=True):
    """Projects, and weights by feature fitted to all others."""

    projects: tuple[str, ...]
    facts: dict[str, float]
    lines: dict[str, float]

    @classmethod
    def of(cls, projects: Sequence[str], model: Model) -> Fold:
        facts, lines = zip(OF_FACTS, model.facts, strict=True), zip(OF_LINES, model.lines, strict=True)
        return cls(tuple(sorted(projects)), dict(facts), dict(lines))

    @property
    def model(self) -> Model:
        return Model(tuple(map(self.facts.__getitem__, OF_FACTS)), tuple(map(self.lines.__getitem__, OF_LINES)))

    def leaves_out(self, project: str) -> bool:
        return any(project.startswith(one) or one.startswith(project) for one in self.projects)


def project_of(path: Path) -> str:
    before, found, _ = path.stem.partition("__")
    words: list[str] = re.findall(r"[A-Za-z0-9]+", before)
    return words[-1 if found else 0] if words else ""


def folds() -> list[Fold]:
    return msgspec.json.decode(FILE.read_bytes(), type=list[Fold]) if FILE.exists() else []


@contextmanager
def without(path: Path) -> Iterator[None]:
    """Use weights that this session's project had no part in, inside this context."""
    usual = likelihood.MODEL
    fold = next((fold for fold in folds() if fold.leaves_out(project_of(path))), None)
    with using(fold.model if fold else usual):
        yield


@contextmanager
def using(model: Model) -> Iterator[None]:
    """Let the extraction use a model, inside this context. The product has no setting for this."""
    usual = likelihood.MODEL
    likelihood.MODEL = model  # type: ignore[misc]
    try:
        yield
    finally:
        likelihood.MODEL = usual  # type: ignore[misc]


def condensed(case: Case, configuration: Configuration, target: int | None = None) -> Sequence[Message]:
    """Condense the part before a cut. Not proved: the file goes on, so the result would not read back the same."""
    done = api.condense(
        case.before, configuration, target_tokens=target, counter=case.count, factor=AS_COUNTED, proves=False
    )
    return done.transcript.messages


def write(found: Sequence[Fold]) -> None:
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
