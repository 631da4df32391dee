"""The JSON that the commands print has the keys that docs/json-report.md names, and no others."""

import re
from typing import Any

from real import PROJECT

_PAGE = (PROJECT / "docs" / "json-report.md").read_text()


def keys(value: Any) -> set[str]:
    """The keys of a value and of all that it holds."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {*(value if isinstance(value, dict) else ()), *(key for each in inner for key in keys(each))}


def check_documented(report: dict[str, Any], command: str, absent: frozenset[str] = frozenset()) -> None:
    """Each key is named there for the command or a run, and each entry for it is a key, unless it may be absent."""
    section = _below(f"## `condense {command}")
    named = _PAGE.partition("\n## ")[0] + _below("## `condense run") + _below("### Cost") + section
    unknown = keys(report) - {*re.findall(r"\w+", named)}
    assert not unknown, unknown
    entries = re.findall(r"(?m)^- ((?:`\w+`(?:, )?)+)", section)
    missing = {*re.findall(r"\w+", " ".join(entries))} - report.keys() - absent
    assert not missing, missing


def _below(heading: str) -> str:
    return re.split(r"(?m)^##", _PAGE.partition(f"\n{heading}")[2])[0]
