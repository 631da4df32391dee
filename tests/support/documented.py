"""The JSON that the commands print has the keys that docs/json-report.md names, and no others."""

import re
from typing import Any

from real import PROJECT

_PAGE = (PROJECT / "docs" / "json-report.md").read_text()
RARE = "command cwd is_new path kinds records values at_least cached planned profile refused written"
"""Keys of a run's report with a new session, with a smaller file or with summaries."""
CHANGES = "changes pass_id block message kind content_type tool bare_before bare_after lines text"
"""Keys of what is told of each block, and of what is lost."""


def keys(value: Any) -> set[str]:
    """The keys of a value and of all that it holds."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {*(value if isinstance(value, dict) else ()), *(key for each in inner for key in keys(each))}


def check_documented(report: dict[str, Any], command: str, absent: str = "") -> None:
    """Each key is a name there, and what an entry for the command explains is a key, unless it may be absent."""
    section = _below(f"## `condense {command}")
    if command == "run":
        section += _below("### Cost")
    page = _PAGE.partition("\n## ")[0] + _below("## `condense run") + _below("### Cost") + section
    in_braces = r"`\{([\w, \n]+)\}"
    names = {*re.findall(r"`(\w+)`", page), *re.findall(r"\w+", " ".join(re.findall(in_braces, page)))}
    found = keys(report)
    assert not (unknown := found - names), unknown
    entries = re.findall(r"(?m)^ *- ((?:`\w+`(?:, |; )?)+)", section)
    explained = {*re.findall(r"\w+", " ".join([*entries, *re.findall(in_braces, section)]))}
    assert not (missing := explained - found - {*absent.split()}), missing


def _below(heading: str) -> str:
    return re.split(r"(?m)^##", _PAGE.partition(f"\n{heading}")[2])[0]
