"""The benchmarks run; figures and the pages that tell them agree; weights are fitted without what they measure."""

import importlib
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from real import PROJECT, SAMPLES, SESSION

from condense_cli import api
from condense_cli.config.loading import parse_configuration
from condense_cli.config.models import Configuration, Prelude
from condense_cli.config.preset_folders import preset_names
from condense_cli.extractive import likelihood
from condense_cli.extractive.likelihood import MODEL, Model
from condense_cli.extractive.survey import Survey
from condense_cli.lossless.references import parse_reference
from condense_cli.tokens.counting import Counter

GUIDE = (PROJECT / "docs" / "offline.md").read_text().partition("\n## Which lines stay")[0]
MEASURED = (PROJECT / "benchmarks" / "measured.md").read_text()


def headings(page: str) -> set[str]:
    """The first lines of the tables of a page."""
    return set(re.findall(r"^(\|.*\|)\n\| ---", page, re.MULTILINE))


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let benchmarks import each other, as they do when they run as scripts."""
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(PROJECT / "benchmarks" / f"{name}.py"))


@pytest.fixture
def prelude() -> dict[str, Any]:
    return script("prelude")


@pytest.mark.slow
def test_the_prelude_benchmark_measures_every_sample(
    prelude: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("no transcript")
    prelude["main"]([*map(str, SAMPLES), str(notes)])
    printed = capsys.readouterr().out
    for path in SAMPLES:
        share = re.search(rf"^{re.escape(path.name)} +[\d,]+ +[\d,]+ +(\d+\.\d)%", printed, re.MULTILINE)
        assert share is not None, path.name
        assert float(share[1]) > 5
    assert f"in {len(SAMPLES)} files were decoded" in printed
    assert "cannot be read: 1 (notes.txt)" in printed


@pytest.mark.slow
def test_the_prelude_benchmark_writes_a_table(prelude: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    prelude["main"](["--markdown", *map(str, SAMPLES)])
    header, rule, *rows = capsys.readouterr().out.splitlines()
    assert header in MEASURED
    assert rows
    assert {line.count("|") for line in (rule, *rows)} == {header.count("|")}


# A benchmark that calls lossless what is not would be worse than none.
def test_the_prelude_benchmark_notices_what_does_not_come_back(
    prelude: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(prelude["main"].__globals__, "decode", lambda messages: prelude["Decoded"](tuple(messages)))
    with pytest.raises(SystemExit) as ended:
        prelude["main"]([str(SAMPLES[0])])
    assert "did not come back" in str(ended.value)


# Two reads of a path, of different lines: the older one shows a line that stands nowhere else.
def test_a_read_is_lost_when_a_line_of_it_stands_nowhere_else(prelude: dict[str, Any]) -> None:
    def read(call_id: str, first: int, last: int) -> list[dict[str, Any]]:
        shown = "\n".join(f"{number:>6}→    value_{number} = compute({number})" for number in range(first, last))
        call = {"type": "tool_use", "id": call_id, "name": "Read", "input": {"file_path": "/srv/a.py"}}
        return [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": shown}]},
        ]

    def lost(*reads: list[dict[str, Any]]) -> tuple[int, int]:
        messages = [{"role": "user", "content": "go"}, *(message for read in reads for message in read)]
        row = prelude["measured"](Path("a.jsonl"), api.loads(messages))
        return row.lost, row.reads

    assert lost(read("a", 1, 40), read("b", 1, 40)) == (0, 1)
    assert lost(read("a", 1, 41), read("b", 1, 40)) == (1, 1)
    assert lost(read("a", 1, 40)) == (0, 0)


def test_the_guide_shows_what_happens() -> None:
    before, after = re.findall(r"```text\n(.*?)\n```", GUIDE, re.DOTALL)
    transcript = api.load(PROJECT / "sample_transcripts" / "bugfix-session.jsonl")
    smaller = api.condense(transcript, Configuration(lossless_prelude=Prelude(enabled=True))).transcript
    texts = [
        (old.text, new.text)
        for (_, old), (_, new) in zip(transcript.blocks(), smaller.blocks(), strict=True)
        if old.text != new.text
    ]
    assert (before, after) in texts
    assert all(parse_reference(line) for line in after.split("\n"))


def test_the_configuration_in_the_guide_is_the_default() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    assert parse_configuration(text).lossless_prelude == Prelude()
    assert set(re.findall(r"^ *(\w+):", text, re.MULTILINE)) >= set(Prelude.__struct_fields__)


@pytest.fixture
def reductions() -> dict[str, Any]:
    return script("reductions")


def test_the_benchmark_of_reductions_writes_the_tables_of_the_document(
    reductions: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    document = (PROJECT / "benchmarks" / "reductions.md").read_text()
    reductions["main"](["--markdown", str(PROJECT / "sample_transcripts" / "bugfix-session.jsonl")])
    providers, groups = capsys.readouterr().out.strip().split("\n\n")
    for table in (providers, groups):
        assert "\n".join(table.split("\n")[:2]) in document
    rows = [line for line in providers.split("\n")[2:] if line]
    assert [re.findall(r"`(\w+)`", row) for row in rows] == [["native"], ["lossless"], ["truncation"], ["smart"]]
    shares = [float(row.split("|")[3].strip().removesuffix("%")) for row in rows]
    assert all(10 < share < 95 for share in shares)


# What is saved and what is left are all that there was.
def test_the_benchmark_of_reductions_accounts_for_every_token(reductions: dict[str, Any]) -> None:
    transcript = api.load(SAMPLES[-1])
    for row in reductions["measured"](transcript, "any", Counter.of(transcript)).values():
        assert sum(row.left.values()) == row.after < row.before


@pytest.mark.slow
def test_the_benchmark_of_presets_measures_each_and_compares_them(capsys: pytest.CaptureFixture[str]) -> None:
    presets = script("presets")
    presets["main"]([str(PROJECT / "sample_transcripts" / "bugfix-session.jsonl"), "--jobs", "1"])
    found = json.loads(capsys.readouterr().out)
    assert (found["transcripts"], found["cuts"]) == (1, 2)
    assert sorted(found["presets"]) == sorted(found["beats"]) == preset_names()
    assert found["presets"]["lossless"]["percent"] == 100
    assert not any(found["beats"].values()), "two cuts are no rule"


@pytest.fixture
def witnesses() -> dict[str, Any]:
    return script("witnesses")


@pytest.mark.slow
def test_the_benchmark_of_witnesses_puts_every_measure_beside_each_other(
    witnesses: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample, means = str(PROJECT / "sample_transcripts" / "bugfix-session.jsonl"), tmp_path / "means.json"
    shown = ["facts", "bits", "grounding"]
    groups = ["--group", "some", sample, "--group", "others", sample]
    witnesses["main"]([*groups, "--presets", "balanced", "--json", str(means), "--jobs", "1", "--measures", *shown])
    printed = capsys.readouterr().out
    kinds = "| kind of client | way | facts | bits | grounding |"
    assert headings(printed) == {f"| way | size | {' | '.join(shown)} |", kinds}
    assert "on 2 sessions of 1 project." in printed
    rows = re.findall(r"^\| (balanced|drop the oldest|clear old results, [^|]+) \|(.*) \|$", printed, re.MULTILINE)
    assert {name.partition(",")[0] for name, _ in rows} == {"balanced", "drop the oldest", "clear old results"}
    assert {cells.count("|") for _, cells in rows} == {len(shown)}
    assert "| cuts with needs | | 2 | 2 | 2 |" in printed
    assert re.findall(r"^\| ((?:some|others) \(1\)) \| balanced ", printed, re.MULTILINE) == ["some (1)", "others (1)"]
    (settings,) = json.loads(means.read_bytes())["others"].values()
    assert {setting["way"] for setting in settings} >= {"balanced", "clear old results"}


# Of many sessions of one project and one of another, a sample of two has both.
def test_a_sample_takes_projects_in_turns(witnesses: dict[str, Any], tmp_path: Path) -> None:
    for name in ("a1", "a2", "a3", "b1"):
        (tmp_path / f"{name}.json").write_text("[]")
    rows = "".join(f"{name}.json\t{name[0]}\n" for name in ("a1", "a2", "a3", "b1"))
    (tmp_path / "INDEX.tsv").write_text("file\tsource_repo\n" + rows)
    found = [path.stem for _, path in witnesses["in_turns"](witnesses["projects_of"]([tmp_path]))]
    assert found == ["a1", "b1", "a2", "a3"]


# The figures of the benchmark are those of real runs, and its sets have the bad rows that it promises.
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc")
def test_the_benchmark_of_rows_measures_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows = script("rows")
    rows["main"](["--rows", "500", "1000", "--jobs", "1", "--folder", str(tmp_path)])
    printed = capsys.readouterr().out
    assert re.search(r"^ +1,000 .*% +1$", printed, re.MULTILINE)
    assert "from 500 to 1,000 rows: exponent " in printed
    assert "MB, under 500 MB" in printed
    assert list(tmp_path.iterdir()) == []


def test_the_benchmark_of_chats_tells_what_survives(capsys: pytest.CaptureFixture[str]) -> None:
    chats = script("chats")
    only = ["--chats", "made up", "--limit", "1", "--budgets", "0.3"]
    ours, dropped, _ = chats["main"]([*only, "--presets", "balanced", "--against", "oldest"])
    assert ours.survived["user's"] == [True] * len(ours.survived["user's"])
    assert not all(dropped.survived["user's"])
    assert 0.25 < ours.sizes[0] <= 0.3
    assert "| balanced | 30% | 30 |" in capsys.readouterr().out


def test_no_phrasing_is_both_fitted_and_held_out() -> None:
    sets = script("planted_texts")["SETS"]
    fitted, held_out = ({each.text for each in found} for found in sets.values())
    assert len(fitted) > 50
    assert len(held_out) > 50
    assert not fitted & held_out


@pytest.fixture
def speed() -> dict[str, Any]:
    return script("speed")


@pytest.mark.slow
def test_the_benchmark_of_speed_writes_the_tables_of_the_document(
    speed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    quickly = "--sizes 0.05 0.1 --formats anthropic --presets speed --rounds 1 --starts 1 --rows 2 --peers"
    speed["main"](quickly.split())
    printed = capsys.readouterr().out
    page = (PROJECT / "docs" / "speed.md").read_text()
    for part in ("Start", "200,000 tokens", "Short conversations through the Python API"):
        assert f"### {part}\n" in printed
        assert f"### {part}\n" in page
    assert "| | anthropic, work alone, s | anthropic, seconds | anthropic, peak MB |" in printed
    for what in ("speed", "speed to 50 %", "condense estimate", "condense evaluate", "condense ui, opening", "Live"):
        assert re.search(rf"^\| {what} \| ", printed, re.MULTILINE)
    assert "| `condense --help` |" in printed


# A target that was missed stays in the table and says so.
def test_the_benchmark_of_speed_says_what_was_missed(speed: dict[str, Any]) -> None:
    asked, cost, row, run = (speed[name] for name in ("Asked", "Cost", "Row", "Run"))

    def measured(size: int, seconds: float) -> Any:
        runs = {preset: run(cost(seconds, seconds, 310_000_000), [seconds]) for preset in ("speed", "cost")}
        return row("anthropic", size, cost(1.0, 1.0, 1), runs)

    names = ("python -I -c pass", "condense --help", "condense run (10 KB)")
    starts = {name: [cost(0.05, 0.05, 1)] for name in names}
    found = speed["Found"](starts, [measured(10_000, 0.1), measured(5_000_000, 1.1), measured(50_000_000, 2.1)])
    found.asked.append(asked("LangChain, with our counts", "anthropic", 0.5, 2.0))
    found.in_api = {"speed": 3.0}
    found.waits.append(speed["Wait"](speed["ESTIMATE"], "anthropic", 5_000_000, 2.0, 1))
    verdicts = {what: (value, value <= most) for what, value, most, _ in speed["targets"](found)}
    assert verdicts["`condense --help`, times the bare interpreter"] == (1, True)
    assert verdicts["anthropic, 5 MB, preset cost, times LangChain, with our counts"] == (0.55, True)
    assert verdicts["anthropic, 50 MB, preset speed: time for 10 MB"] == (pytest.approx(0.42), True)
    assert verdicts["anthropic, 50 MB, preset speed: memory, times the file"] == (6.2, False)
    assert verdicts["anthropic, 5.0 MB, condense estimate"] == (2.0, True)
    assert verdicts["16 KB in the Python API, preset speed"] == (3, False)
    growth, is_met = verdicts["anthropic, preset cost: growth of time, exponent"]
    assert (round(growth, 2), is_met) == (0.3, True)
    assert list(speed["tables"](found, "2030-01-01", "here"))
    lines = list(speed["goals"](found))
    assert sum(line.endswith("| missed |") for line in lines) == sum(not met for _, met in verdicts.values())


@pytest.fixture
def rules() -> dict[str, Any]:
    return script("rules")


@pytest.mark.slow
def test_rules_are_put_into_every_format_and_stay(rules: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    samples = [path for path in SAMPLES if path.stat().st_size < 50_000 or path == SESSION]
    planted = [rules["planted"](path, 2) for path in samples]
    assert {len(session.rules) for session in planted if session} == {5}
    assert {session.transcript.format for session in planted if session} >= {"claude-code", "codex", "pi", "opencode"}
    rows = rules["main"]([*map(str, samples[::2]), "--presets", "balanced", "--targets", "60"])
    assert "with room" in capsys.readouterr().out
    for row in rows:
        assert row.rules > 20
        assert row.kept_with_room == row.with_room > 0
        assert row.nearly_all < row.runs / 4


def test_rules_that_a_configuration_suppresses_are_lost(rules: dict[str, Any], tmp_path: Path) -> None:
    preset = tmp_path / "suppress.yaml"
    preset.write_text(
        "passes: [{id: a, selection: {type: preserve_recent, keep_recent_count: 1},"
        " individual_config: {defaults: {message_text: {operation: suppress}}}}]"
    )
    (row,) = rules["main"](
        [*map(str, SAMPLES[:2]), "--presets", str(preset), "--targets", "30", "--ways", "its own file"]
    )
    assert row.kept < row.rules


@pytest.fixture
def hostile() -> dict[str, Any]:
    return script("hostile")


def test_calls_of_a_run_are_the_same_every_time(hostile: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "small.jsonl"
    hostile["write"](hostile["SHAPES"]["small turns"](2_000), path)
    first, again = (hostile["cost"](path, ["--preset", "cost"], counts_calls=True) for _ in range(2))
    assert first > 1_000
    assert abs(first - again) < first / 100


def test_a_row_above_the_limit_is_measured_again(hostile: dict[str, Any], tmp_path: Path) -> None:
    """Somebody else used the machine in the first round, in which the largest took too long."""
    times = iter([0.1, 1.1, 2.1, 8.1, 0.1, 1.2, 2.2, 4.1] * 3)
    measured = hostile["measured"]
    measured.__globals__.update(cost=lambda *given, **options: next(times), WAYS={"any": ()})
    ((_, sizes, costs),) = measured("small turns", 2_000, 1, 1.2, tmp_path, counts_calls=False)
    assert costs == pytest.approx([1, 2, 4])
    assert hostile["is_slow"](sizes, [1, 2, 8], 1.2, counts_calls=False)
    assert not hostile["is_slow"](sizes, [1, 2, 8], 1.2, counts_calls=True), "so few calls tell nothing"


# A process begins with the peak of the one that starts it.
def test_the_memory_of_a_command_is_its_own() -> None:
    processes = script("processes")
    held = bytearray(b"x") * 100_000_000
    bare = processes["cost"]([sys.executable, "-I", "-c", "pass"], dict(os.environ))
    assert 1_000_000 < bare.peak < len(held) / 2
    with pytest.raises(subprocess.CalledProcessError):
        processes["cost"]([sys.executable, "-c", "raise SystemExit(3)"], dict(os.environ))


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    module = importlib.import_module("left_out")
    monkeypatch.setattr(module, "FILE", tmp_path / "folds.json")
    return module


def _model(weight: float) -> Model:
    return Model((weight,) * len(MODEL.facts), (weight,) * len(MODEL.lines))


def test_a_session_gets_the_weights_of_the_fold_that_leaves_its_project_out(left_out: ModuleType) -> None:
    folds = [left_out.Fold.of(["app", "entire"], _model(1.0)), left_out.Fold.of(["other"], _model(2.0))]
    left_out.write(folds)
    used = {}
    for name in ("x--app__1.jsonl", "entirecli-go.jsonl", "other-1.jsonl", "unknown.jsonl"):
        with left_out.without(Path(name)):
            used[name] = likelihood.MODEL
    assert used == {
        "x--app__1.jsonl": _model(1.0),
        "entirecli-go.jsonl": _model(1.0),
        "other-1.jsonl": _model(2.0),
        "unknown.jsonl": MODEL,
    }
    assert likelihood.MODEL is MODEL


# Where the survey kept weights of its own, all figures of projects left out would be too good.
def test_a_survey_works_with_them(left_out: ModuleType) -> None:
    messages = api.load(SESSION).messages
    with left_out.using(_model(-1.0)):
        assert max(Survey(messages, Counter()).weights) < 0.1
    assert max(Survey(messages, Counter()).weights) > 0.1


def test_the_usual_weights_come_back_after_an_error(left_out: ModuleType) -> None:
    with pytest.raises(KeyError), left_out.using(_model(1.0)):
        raise KeyError
    assert likelihood.MODEL is MODEL


# A feature that came or went has to be fitted in every fold.
def test_the_folds_have_the_features_of_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    module = importlib.import_module("left_out")
    folds = module.folds()
    assert len(folds) == 4
    assert len({project for fold in folds for project in fold.projects}) == sum(len(fold.projects) for fold in folds)
    for fold in folds:
        assert [*fold.facts] == [*module.OF_FACTS]
        assert [*fold.lines] == [*module.OF_LINES]
        assert fold.model != MODEL


README = (PROJECT / "README.md").read_text()
PAGES = {path.name: path.read_text() for path in (PROJECT / "README.md", *(PROJECT / "docs").glob("*.md"))}
MARKS = re.compile(r"<!-- [^>]*written by benchmarks/(\S+?)\.py --write -->\n\n(.*?)\n\n<!-- end of", re.DOTALL)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    return runpy.run_path(str(PROJECT / "benchmarks" / "figures.py"))


def tables() -> list[tuple[str, str]]:
    """What scripts wrote, with their names."""
    return [found for page in PAGES.values() for found in MARKS.findall(page)]


def test_the_readme_repeats_what_is_measured(figures: dict[str, Any]) -> None:
    assert figures["copied"](README, PAGES["quality.md"]) == README


def test_a_copy_that_differs_is_noticed(figures: dict[str, Any]) -> None:
    for row in (*figures["TOOLS"], *figures["SIZES"]):
        (line,) = re.findall(rf"(?m)^\| {re.escape(row)} \| .* \|$", README)
        name, cells = line[: len(row) + 4], line[len(row) + 4 :]
        other = README.replace(line, name + re.sub(r"\d+%", "1%", cells))
        assert other != README
        assert figures["copied"](other, PAGES["quality.md"]) == README


def test_every_table_has_a_script_that_writes_it(figures: dict[str, Any]) -> None:
    scripts = {Path(command[0]).with_suffix("").as_posix(): name for name, command in figures["SCRIPTS"].items()}
    found = tables()
    assert len(found) > 4
    for script, text in found:
        assert script in scripts
        assert "| ---" in text
    assert {name.partition(",")[0] for name in figures["kept"]()} <= {*figures["SCRIPTS"]}


# The README has some rows and columns of the table of docs/costs.md, as they are there.
def test_the_bill_is_told_once(figures: dict[str, Any]) -> None:
    pages = [PAGES[name] for name in ("README.md", "costs.md")]
    short, long = (rows_of(text) for page in pages for script, text in MARKS.findall(page) if script == "bill")
    assert len(short) > 3
    for name, cells in short.items():
        assert cells.items() <= long[name].items()
    assert figures["kept"]()["bill"]["sources"]


def rows_of(text: str) -> dict[str, dict[str, str]]:
    """The cells of a table by row and column."""
    columns, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.split("\n") if "|" in line)
    return {name: dict(zip(columns[1:], cells, strict=True)) for name, *cells in rows}


@pytest.mark.real
def test_sources_are_what_was_measured(figures: dict[str, Any]) -> None:
    found = {path.name: path for folder in (figures["TRANSCRIPTS"], figures["MORE"]) for path in folder.rglob("*")}
    for name, kept in json.loads(figures["FILE"].read_text()).items():
        for source, digest in kept["sources"].items():
            if source in found:
                assert figures["digest"](found[source]) == digest, (name, source)
