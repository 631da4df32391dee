"""The bill: what was cut and is needed is read again where a file holds it, and lost where none does."""

from __future__ import annotations

import copy
import runpy
from typing import Any

import pytest
from build import assistant, call, result, user
from real import PROJECT

from condense_cli.live.replaying import ApiMessage, untouched

LINE = "retry_limit_total = 7"
SHOWN = "\n".join((*(f"value_{n} = compute({n})" for n in range(300)), LINE))


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    for folder in ("benchmarks", "benchmarks/quality"):
        monkeypatch.syspath_prepend(str(PROJECT / folder))
    return runpy.run_path(str(PROJECT / "benchmarks" / "bill.py"))


def session(benchmark: dict[str, Any], tool: str, **arguments: str) -> Any:
    """A result, some turns, and an edit that needs a line of it."""
    messages = [
        user("Please raise the limit."),
        assistant([call("t1", tool, **arguments)]),
        user([result("t1", SHOWN)]),
    ]
    for n in range(2, 6):
        messages += [assistant([call(f"t{n}", "Bash", command=f"ls {n}")]), user([result(f"t{n}", f"nothing {n}")])]
    edit = call("t9", "Edit", file_path="src/app.py", old_string=LINE, new_string="retry_limit_total = 9")
    messages += [assistant([edit]), user([result("t9", "done")]), assistant("Raised.")]
    return benchmark["Session"](messages, "claude-opus-4-6", 1.0, {})


def cleared(messages: list[ApiMessage], now: float, used: int) -> list[ApiMessage]:
    """Leave the newest result alone."""
    found = copy.deepcopy(messages)
    results = [part for message in found for part in message["content"] if isinstance(part, dict) and "content" in part]
    for part in results[:-1]:
        part["content"] = "[cleared]"
    return found


def billed(benchmark: dict[str, Any], recorded: Any, way: Any) -> Any:
    return benchmark["bill"](recorded, way, benchmark["Needs"](recorded.messages), for_an_hour=False)


def test_what_a_file_holds_is_read_again_and_billed(benchmark: dict[str, Any]) -> None:
    recorded = session(benchmark, "Read", file_path="src/app.py")
    whole, less = (billed(benchmark, recorded, way) for way in (untouched, cleared))
    assert (whole.requests, whole.further, whole.lost) == (7, 0, 0)
    assert whole.needs == less.needs > 0
    assert (less.requests, less.further, less.lost) == (7, 1, 0)
    assert less.dollars > 0


def test_what_no_file_holds_is_lost(benchmark: dict[str, Any]) -> None:
    recorded = session(benchmark, "Bash", command="make limits")
    less = billed(benchmark, recorded, cleared)
    assert less.further == 0
    assert less.lost > 0


# Rows have the sessions that a way could be applied to, beside the same sessions with everything sent.
def test_a_row_has_its_own_sessions(benchmark: dict[str, Any]) -> None:
    result_of, everything = benchmark["Result"], benchmark["EVERYTHING"]
    found = [
        {everything: result_of(benchmark["Decimal"](4), 10, 0, 20, 0), "tool": "ShapeError"},
        {
            everything: result_of(benchmark["Decimal"](2), 10, 0, 20, 0),
            "tool": result_of(benchmark["Decimal"](1), 10, 2, 20, 1),
        },
    ]
    whole, tool = benchmark["rows_of"](found, (everything, "tool"))
    assert [*whole.cells().values()][:3] == ["2", "1.00", "1.00"]
    assert [*tool.cells().values()] == ["1", "0.50", "0.50", "$1.00 ($2.00)", "20.0", "5.0%"]
