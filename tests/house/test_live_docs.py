"""The example of docs/live.md does what it says, and every policy that it names exists."""

from __future__ import annotations

import contextlib
import io
import re

from real import PROJECT

from condense_cli.live.policies import policy_named

PAGE = (PROJECT / "docs" / "live.md").read_text()


def test_the_example_prints_what_the_page_shows() -> None:
    match = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert match
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(match[1], {})
    assert printed.getvalue() == match[2]


def test_the_policies_exist() -> None:
    names = re.findall(r"^\| `(\w+:?[\d.]*)`.* \| when", PAGE, re.MULTILINE)
    assert len(names) == 4
    assert all(map(policy_named, names))
