"""What belongs to a new format, command, preset or report besides its file; tables by kind have every kind."""

import re
from collections.abc import Collection
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, get_args

import msgspec
import pytest
from real import PROJECT
from yesterday import sources

from condense_cli.cli.table import COMMANDS
from condense_cli.clients.choices import Client
from condense_cli.clients.table import CLIENTS
from condense_cli.config import models
from condense_cli.config.models import Kind as Lossy
from condense_cli.config.own import keys, variable_of
from condense_cli.config.profiles import _URLS, _VARIABLES, Api
from condense_cli.core.values import CONTENT_TYPE_OF_KIND, BlockKind, Family
from condense_cli.formats import FORMATS, parse
from condense_cli.ledger.entries import State
from condense_cli.ledger.text import _STATES
from condense_cli.llm.client import _TEXTS, Cause
from condense_cli.llm.prompts import _BLOCKS, Subject
from condense_cli.providers.smart import _CONTENT
from condense_cli.report.difference import What
from condense_cli.report.inspection.facts import _KIND_NAMES
from condense_cli.report.run.terminal import _WHAT_STYLE
from condense_cli.rules.validity import RULES

# An archive of Inspect holds what its other format holds.
FORMAT_NAMES = [form.name for form in FORMATS if form.name != "inspect-eval"]


@pytest.fixture(scope="module")
def inputs() -> dict[str, bytes]:
    """The small sessions that each version freezes its work on, by what they are of."""
    return {name.partition(".")[0]: data for name, data in sources.inputs().items()}


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_every_format_has_an_input_for_later_versions(name: str, inputs: dict[str, bytes]) -> None:
    assert name in inputs, "tests/yesterday/sources.py has no session of it"
    assert parse(inputs[name]).format == name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_on_the_page_of_commands(name: str) -> None:
    assert f"`condense {name}" in (PROJECT / "docs" / "commands.md").read_text(), "docs/commands.md lacks it"


_PAGE: Final = re.compile(r"[Dd]ocumented in (docs/[\w-]+\.md)")
REPORTS = {
    str(path.relative_to(PROJECT)): page[1]
    for path in sorted((PROJECT / "condense_cli").rglob("*.py"))
    if (page := _PAGE.search(path.read_text()))
}
"""Files whose values are a JSON report, and the page that tells of it."""


def kinds_of(module: ModuleType) -> list[type[msgspec.Struct]]:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    return [kind for kind in kinds if kind.__module__ == module.__name__]


def module_at(path: str) -> ModuleType:
    return import_module(path.removesuffix(".py").replace("/", "."))


@pytest.mark.parametrize("path", REPORTS)
def test_every_key_of_a_report_is_documented(path: str) -> None:
    kinds = {kind.__name__: kind for kind in kinds_of(module_at(path))}
    shown = [name for name, kind in kinds.items() if "version" in kind.__struct_encode_fields__] or [*kinds]
    for name in shown:  # What these hold is added as it is found.
        words = re.findall(r"\w+", " ".join(map(str, kinds[name].__annotations__.values())))
        shown += [word for word in dict.fromkeys(words) if word in kinds and word not in shown]
    keys = {key for name in shown for key in kinds[name].__struct_encode_fields__}
    page = (PROJECT / REPORTS[path]).read_text()
    assert sorted(key for key in keys if not re.search(rf"\b{key}\b", page)) == [], f"{REPORTS[path]} lacks them"


# What has a version is read by programs.
def test_every_report_names_its_page() -> None:
    others = [str(path.relative_to(PROJECT)) for path in (PROJECT / "condense_cli" / "report").rglob("*.py")]
    nameless = [
        path
        for path in others
        if path not in REPORTS
        if any("version" in kind.__struct_encode_fields__ for kind in kinds_of(module_at(path)))
    ]
    assert nameless == [], "their docstrings do not say `Documented in docs/PAGE.md`"


def test_every_key_of_the_configuration_is_documented() -> None:
    page = Path(PROJECT, "docs", "configuration.md").read_text()
    documented = {key for kind in kinds_of(models) for key in kind.__struct_encode_fields__}
    assert sorted(key for key in documented if key not in page) == []
    assert sorted(name for name in map(variable_of, keys()) if f"`{name}`" not in page) == []


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
