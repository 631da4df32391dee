"""The pages on formats and options are made from tables, and are up to date."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from real import PROJECT

from condense_cli.formats import FORMATS


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, PROJECT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["make_formats", "make_options"])
def test_the_page_is_up_to_date(name: str) -> None:
    made = script(name)
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "make docs"


def test_every_format_has_notes() -> None:
    assert {form.name for form in FORMATS} == set(script("make_formats").NOTES)
