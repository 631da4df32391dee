"""Tables by kind say something about every kind; where code tells kinds apart, mypy says so (`assert_never`)."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import get_args

import pytest

from condense_cli.clients.choices import Client
from condense_cli.clients.table import CLIENTS
from condense_cli.config.models import Kind as Lossy
from condense_cli.config.profiles import _URLS, _VARIABLES, Api
from condense_cli.core.values import CONTENT_TYPE_OF_KIND, BlockKind, Family
from condense_cli.ledger.entries import State
from condense_cli.ledger.text import _STATES
from condense_cli.llm.client import _TEXTS, Cause
from condense_cli.llm.prompts import _BLOCKS, Subject
from condense_cli.providers.smart import _CONTENT
from condense_cli.report.difference import What
from condense_cli.report.inspection.facts import _KIND_NAMES
from condense_cli.report.run.terminal import _WHAT_STYLE
from condense_cli.rules.validity import RULES


@pytest.mark.parametrize(
    ("table", "kinds", "but"),
    [
        (CONTENT_TYPE_OF_KIND, BlockKind, {BlockKind.THINKING, BlockKind.OPAQUE}),
        (_KIND_NAMES, BlockKind, {BlockKind.TEXT}),
        (RULES, Family, ()),
        (_TEXTS, Cause, ()),
        (_BLOCKS, Subject, {Subject.CONVERSATION}),
        (_WHAT_STYLE, What, ()),
        (CLIENTS, Client, ()),
        (_URLS, get_args(Api), ()),
        (_VARIABLES, get_args(Api), ()),
        (_CONTENT, get_args(Lossy), ()),
        (_STATES, get_args(State), {""}),
    ],
)
def test_every_kind_has_a_row(
    table: dict[object, object], kinds: Collection[Enum | str], but: Collection[object]
) -> None:
    assert table.keys() == {*kinds} - {*but}
