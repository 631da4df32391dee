"""Figures that were reached are held and written anew only where better; the bill of what is read again."""

import copy
import runpy
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from build import assistant, call, result, user
from real import PROJECT

from condense_cli.live.replaying import ApiMessage, untouched

FILE: Final = """# Figures that were reached.
# In two lines.

[quality]
about = "shares"
better = "higher"
tolerance = 0.01

[quality.figures]
"to 50%: facts" = 0.9000
"to 50%: edits" = 0.8000

[speed]
about = "ratios"
better = "lower"
tolerance = 0.1

[speed.figures]
"time" = 2.0000
"""


class Gates:
    """The script on a file of its own, with figures that a test gives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now: dict[str, dict[str, float]] = {
            "quality": {"to 50%: facts": 0.9, "to 50%: edits": 0.8},
            "speed": {"time": 2.0},
        }
        self._script = runpy.run_path(str(PROJECT / "benchmarks" / "gates.py"))
        path.write_text(FILE)

    def run(self, *arguments: str) -> int:
        measures = {name: (lambda figures=figures: figures) for name, figures in self.now.items()}
        status: int = self._script["main"](arguments, path=self.path, measures=measures)
        return status

    @property
    def figures(self) -> Any:
        return {name: gate["figures"] for name, gate in tomllib.loads(self.path.read_text()).items()}


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates.toml")


def test_figures_that_are_held_pass(gates: Gates, capsys: pytest.CaptureFixture[str]) -> None:
    assert gates.run() == 0
    # Within the tolerance.
    gates.now = {"quality": {"to 50%: facts": 0.892, "to 50%: edits": 0.85}, "speed": {"time": 2.19}}
    assert gates.run() == 0
    assert "WORSE" not in capsys.readouterr().out
    assert gates.path.read_text() == FILE


@pytest.mark.parametrize(
    ("gate", "figure", "now"),
    [("quality", "to 50%: facts", 0.89), ("quality", "to 50%: edits", 0.0), ("speed", "time", 2.21)],
)
def test_a_worse_figure_is_named_and_fails(
    gates: Gates, capsys: pytest.CaptureFixture[str], gate: str, figure: str, now: float
) -> None:
    gates.now[gate][figure] = now
    assert gates.run() == 1
    printed = capsys.readouterr().out
    assert printed.count("WORSE") == 1
    assert f"not measured: {gate}, {figure}." in printed
    (other,) = gates.now.keys() - {gate}
    assert gates.run("--only", other) == 0


def test_a_figure_that_nothing_measures_any_more_fails(gates: Gates, capsys: pytest.CaptureFixture[str]) -> None:
    del gates.now["quality"]["to 50%: edits"]
    assert gates.run() == 1
    assert "NOT MEASURED" in capsys.readouterr().out


def test_better_and_new_figures_are_written(gates: Gates) -> None:
    gates.now = {
        "quality": {"to 50%: facts": 0.95, "to 50%: edits": 0.799, "to 30%: facts": 0.7},
        "speed": {"time": 1.5},
    }
    assert gates.run("--write") == 0
    # What is worse within the tolerance stays: no row of small steps leads down.
    assert gates.figures["quality"] == {"to 50%: facts": 0.95, "to 50%: edits": 0.8, "to 30%: facts": 0.7}
    assert gates.figures["speed"] == {"time": 1.5}
    written = gates.path.read_text()
    assert written.startswith("# Figures that were reached.\n# In two lines.\n\n[quality]\n")
    assert 'tolerance = 0.1\n\n[speed.figures]\n"time" = 1.5000\n' in written
    gates.now = {"quality": {"to 50%: facts": 0.9}}
    assert gates.run("--only", "quality") == 1, "what was written is what counts"


def test_a_worse_figure_is_only_written_where_that_is_wanted(gates: Gates, capsys: pytest.CaptureFixture[str]) -> None:
    gates.now["quality"] = {"to 50%: facts": 0.5, "to 30%: facts": 0.7}
    assert gates.run("--write") == 1
    assert "Nothing was written" in capsys.readouterr().out
    assert gates.path.read_text() == FILE
    assert gates.run("--write", "--worse") == 0
    assert gates.figures["quality"] == {"to 50%: facts": 0.5, "to 30%: facts": 0.7}
    with pytest.raises(SystemExit):
        gates.run("--worse")


def test_the_figures_of_the_project_have_a_measure_each() -> None:
    script = runpy.run_path(str(PROJECT / "benchmarks" / "gates.py"))
    gates = script["read"](script["FILE"])
    assert list(gates) == list(script["MEASURES"])
    assert all(gate.figures and gate.better in ("higher", "lower") and gate.tolerance > 0 for gate in gates.values())
    assert script["written"](script["FILE"].read_text(), gates) == script["FILE"].read_text()


# The figures of the last fit are read from where it writes them.
def test_the_figures_of_the_fit_are_found() -> None:
    figures = runpy.run_path(str(PROJECT / "benchmarks" / "gates.py"))["fit"]()
    assert {name.rpartition(" ")[2] for name in figures} == {"facts", "edits"}
    assert all(0 < share <= 1 for share in figures.values())


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
