"""The page on formats is made from the table, and is up to date."""

from __future__ import annotations

import importlib.util

from real import PROJECT

from condense_cli.formats import FORMATS

SCRIPT = PROJECT / "docs" / "make_formats.py"


def test_the_page_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make_formats", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert {form.name for form in FORMATS} == set(script.NOTES), "docs/make_formats.py has no notes on a format"
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "make docs"
