"""References in the report of a run, in diffs, in inspect and show."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import real
from build import LONG, anthropic, assistant, call, configuration, cut_to, one_pass, read_turn, result, user
from helpers import as_lines, condense, condense_on_terminal, listing
from rich.cells import cell_len

from condense_cli import api
from condense_cli.core.markers import gaps_in, short_hash
from condense_cli.core.transcript import Transcript
from condense_cli.errors import ExitStatus
from condense_cli.report.difference import What
from condense_cli.report.inspection.lookup import HitKind, find
from condense_cli.report.inspection.savings import FINDERS, find_savings
from condense_cli.report.run import facts
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED

pytestmark = pytest.mark.usefixtures("anywhere")

PRELUDE = {"enabled": True}
STATE = "<environment_details>\n" + "\n".join(f"open tab {n}: src/module{n}.py" for n in range(40))
TWICE = [
    user("Please look."),
    *read_turn("1", "src/app.py"),
    *read_turn("2", "src/other.py", listing(7)),
    *read_turn("3", "src/app.py"),
    assistant("Found it."),
]
"""A file read twice, and another one once."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "twice.jsonl"
    path.write_bytes(as_lines(TWICE))
    return path


@pytest.fixture
def lossless(tmp_path: Path) -> Path:
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"lossless_prelude": PRELUDE, "passes": []}))
    return path


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A configuration that cuts what is no reference, but for the newest turns."""
    passes = [one_pass(selection={"type": "preserve_recent", "keep_recent_count": 3}, individual_config=cut_to(3))]
    path = tmp_path / "both.json"
    path.write_text(json.dumps({"lossless_prelude": PRELUDE, "passes": passes}))
    return path


def referenced(transcript: Transcript) -> Transcript:
    return api.loads(api.dump(api.condense(transcript, configuration(lossless_prelude=PRELUDE))), format="anthropic")


def test_what_references_saved_and_what_is_gone_stand_apart(file: Path, both: Path) -> None:
    """The file that is read again becomes a reference; the other one is cut."""
    report = condense("run", file, "--config", both, "--json", "--explain").json
    saved = {entry["message"]: entry["tokens_before"] - entry["tokens_after"] for entry in report["changes"]}
    operations = {entry["message"]: entry["operation"] for entry in report["changes"] if entry["changed"]}
    assert operations == {2: "reference", 4: "truncated"}
    first = [entry for entry in report["changes"] if entry["message"] == 2 and entry["changed"]]
    assert report["tokens"]["saved_by_references"] == sum(e["tokens_before"] - e["tokens_after"] for e in first) > 0
    assert report["tokens"]["saved"] - report["tokens"]["saved_by_references"] == saved[4] > 0


def test_a_reference_that_is_cut_after_all_saved_nothing_losslessly() -> None:
    """It no longer says everything; with the table of the report it is a cut, and counts once."""
    lines = listing(1).splitlines()
    first = "\n".join([*lines, *(f"only here: {n * 7919}" for n in range(40))])
    transcript = anthropic(
        user("go"), *read_turn("1", content=first), *read_turn("2"), *read_turn("3", content=listing(1))
    )
    done = api.condense(
        transcript,
        configuration(
            one_pass(individual_config=cut_to(3), selection={"type": "preserve_recent", "keep_recent_count": 3}),
            lossless_prelude=PRELUDE,
        ),
    )
    assert [receipt.operation for receipt in done.changes if receipt.message == 2] == ["truncate"]
    assert done.lossless_saved == 0
    saved = done.tokens_before - done.tokens_after
    assert facts.savings_of(done, done.tokens_before - done.tokens_after) == [
        facts.Saving("tool results", "truncate", 1, saved)
    ]


def test_a_block_that_is_cut_and_has_a_reference_counts_in_both_shares() -> None:
    """By its tokens: what `restore` puts back in it, and what the pass left out."""
    own = "\n".join(f"only here, number {n}: {n * 7919}" for n in range(60))
    writes = [
        message
        for number, content in enumerate([f"{LONG}\n{own}", LONG])
        for message in (
            assistant([call(f"{number}", "Write", file_path="a.py", content=content)]),
            user([result(f"{number}", "ok")]),
        )
    ]
    cut = {"operation": "truncate", "params": {"truncate": {"max_lines": 45}}}
    done = api.condense(
        anthropic(user("go"), *writes, assistant("done")),
        configuration(
            one_pass(individual_config={"defaults": {"tool_parameters": cut}}),
            lossless_prelude={**PRELUDE, "tool_parameters": True},
        ),
    )
    (block,) = done.transcript.messages[1].blocks
    assert "[see content of the next Write" in block.text
    assert "[… 55 lines #" in block.text
    assert [receipt.operation for receipt in done.changes] == ["truncate"]
    count = Counter()
    put_back = count.transcript(api.restore(done.transcript).transcript) - done.tokens_after
    assert done.lossless_saved == put_back > count(LONG) / 2
    left_out = done.tokens_before - done.tokens_after - put_back
    assert left_out > 0
    shares = [facts.Saving("tool parameters", how, 1, n) for how, n in (("refer", put_back), ("truncate", left_out))]
    assert facts.savings_of(done, done.tokens_before - done.tokens_after) == sorted(
        shares, key=lambda share: -share.tokens
    )


def test_references_of_the_input_cost_what_they_cost_in_the_file() -> None:
    """They saved before, and save nothing now."""
    done = api.condense(referenced(anthropic(*TWICE)), configuration(lossless_prelude=PRELUDE))
    assert (done.changes, done.lossless_saved, done.references) == ([], 0, {})


def test_references_that_become_lines_again_count_against_what_references_saved() -> None:
    """Their target was cut, so the older text has to hold the lines itself."""
    whole = anthropic(
        user("go"), *read_turn("1"), *read_turn("2", content=f"{LONG}\n{listing(9, 90)}"), assistant("ok")
    )
    suppress = one_pass(selection={"type": "custom", "range": {"start": 4, "end": 5}})
    done = api.condense(referenced(whole), configuration(suppress))
    count = Counter()
    grown = count.block(whole.messages[2].blocks[0]) - count.block(done.before.messages[2].blocks[0])
    assert done.transcript.messages[2].blocks[0].text == LONG
    assert done.references == {(2, 0): -grown}
    assert done.lossless_saved == -grown < 0
    assert done.tokens_before - done.tokens_after > 0


@pytest.mark.slow
def test_the_terminal_says_reference_and_what_can_be_had_back(file: Path, lossless: Path, both: Path) -> None:
    """In words, with figures that add up to what was saved."""
    file.write_bytes(as_lines([*TWICE, user("Go on.")]))  # In another process the newest six turns stay.
    done = condense_on_terminal("run", file, "--config", both, "-v", columns=80)
    saved, kept = (
        condense("run", file, "--config", both, "--json").json["tokens"][key]
        for key in ("saved", "saved_by_references")
    )
    assert f"\nCut: tool results {saved - kept:,}; references save {kept:,}.\n" in done.plain
    assert re.search(rf"\ntool results +reference +1 +{kept:,}\n", done.plain)
    assert re.search(r"\nmessage 2  referenced  \d+ → \d+  tool result  Read src/app\.py\n", "\n" + done.plain)
    assert "refer " not in done.plain
    only = condense_on_terminal("run", file, "--config", lossless, columns=80)
    assert f"\nReferences save {kept:,}; condense restore undoes all 1.\n" in only.plain
    explained = condense_on_terminal("run", file, "--config", lossless, "--explain", columns=80)
    assert re.search(r"\n2\.0 +tool result +\d+ → \d+  reference: repeats lines", explained.plain)


def test_what_the_prelude_saved_and_a_pass_then_cut_is_told(file: Path, tmp_path: Path) -> None:
    """The table of passes says of references what they save in the end."""
    config = tmp_path / "cut.json"
    cut = one_pass(selection={"type": "custom"})
    config.write_text(json.dumps({"passes": [cut], "lossless_prelude": PRELUDE}))
    report = condense("run", file, "--config", config, "--json").json
    at_first = report["passes"][0]["tokens_before"] - report["passes"][0]["tokens_after"]
    assert at_first == report["tokens"]["saved_by_references"] == 0
    shown = condense_on_terminal("run", file, "--config", config, columns=80).plain
    assert f"\nCut: tool results {report['tokens']['saved']:,}.\n" in shown


def test_a_run_without_references_says_nothing_about_them(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(as_lines([user("go"), *read_turn("1"), *(assistant("ok"),)]))
    shown = condense_on_terminal("run", path, columns=80).plain
    assert "by references" not in shown
    assert "restore" not in shown


def test_the_summary_mentions_references_where_there_is_room(file: Path, lossless: Path, tmp_path: Path) -> None:
    """In a line of at most 100 characters; the name of the configuration takes room."""
    said = condense("run", file, "--config", lossless.name, "-o", "-", cwd=file.parent).stderr
    assert re.search(r"% saved, \d+ by references, estimated\)", said)
    assert len(said.rstrip("\n")) <= 100
    long = tmp_path / f"{'long' * 10}.json"
    long.write_bytes(lossless.read_bytes())
    said = condense("run", file, "--config", long.name, "-o", "-", cwd=file.parent).stderr
    assert "by references" not in said
    assert "% saved, estimated)" in said


def test_diff_calls_it_referenced(file: Path, lossless: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.jsonl"
    assert condense("run", file, "--config", lossless, "-o", small, "-q").status == ExitStatus.DONE
    shown = condense("diff", file, small).text
    assert "blocks: 1 referenced\n" in shown
    assert "message 2  referenced  " in shown
    assert "  + [see the next Read of src/app.py #" in shown
    found = condense("diff", file, small, "--json").json
    assert found["counts"] == {what.value: int(what is What.REFERENCED) for what in What}
    assert [block["what"] for block in found["blocks"]] == ["referenced"]


def names_and_tokens(transcript: Transcript) -> dict[str, int]:
    return {share.name: share.tokens for share in find_savings(transcript, Counter(), AS_COUNTED)[0].finders}


def test_each_finder_wins_what_it_is_for() -> None:
    """A file read again; a command run again; a state that came again."""
    outputs = [listing(1), *(f"{STATE}\n</environment_details>" for _ in range(2))]
    again = [assistant([call("a", "Bash", command="ls")]), user([result("a", outputs[0])])]
    more = [assistant([call("b", "Bash", command="ls")]), user([result("b", outputs[0])])]
    files, results, states = FINDERS
    found = names_and_tokens(anthropic(*TWICE))
    assert found[files] == found[results] > 0
    assert found[states] == 0
    found = names_and_tokens(anthropic(user("go"), *again, *more))
    assert (found[files], found[states]) == (0, 0)
    assert found[results] > 0
    found = names_and_tokens(anthropic(user(outputs[1]), assistant("ok"), user(outputs[2])))
    assert (found[files], found[results]) == (0, 0)
    assert found[states] > 0


def test_tool_parameters_count_on_top_of_all_finders() -> None:
    """Repeated text is saved only with references."""
    writes = [assistant([call(f"{n}", "Write", file_path="a.py", content=LONG)]) for n in range(2)]
    answers = [user([result(f"{n}", "ok")]) for n in range(2)]
    messages = [user("go"), writes[0], answers[0], writes[1], answers[1]]
    lossless, _ = find_savings(anthropic(*messages), Counter(), AS_COUNTED)
    assert (lossless.tokens, lossless.tool_parameters.blocks) == (0, 1)
    assert lossless.tool_parameters.tokens > Counter()(LONG) / 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", real.SAMPLES, ids=lambda path: path.name)
def test_all_finders_win_what_a_lossless_run_saves(path: Path) -> None:
    """Nothing in these is pinned; and what a run has written is there, and saves just that."""
    transcript, count = real.transcript(path), Counter()
    done = api.condense(transcript, configuration(lossless_prelude=PRELUDE), counter=count)
    lossless, held = find_savings(transcript, count, AS_COUNTED)
    assert lossless.tokens == done.lossless_saved == done.tokens_before - done.tokens_after > 0
    assert lossless.blocks == len(done.references)
    assert (held.resolved, held.unresolved, held.saved) == (0, 0, 0)
    again, held = find_savings(done.transcript, count, AS_COUNTED)
    assert again == lossless
    assert held.saved == done.lossless_saved
    assert held.resolved >= lossless.blocks
    assert held.unresolved == 0


def broken(messages: list[dict[str, Any]]) -> bytes:
    """References to the same lines, of which one names them wrongly."""
    text = api.dump(api.condense(anthropic(*messages), configuration(lossless_prelude=PRELUDE))).decode()
    text, replaced = re.subn(
        r"\[see the next Read of src/app\.py #\d{6}\]", "[see the next Read of src/app.py #000000]", text
    )
    assert replaced == 1
    return text.encode()


def test_inspect_tells_of_references_that_are_there(tmp_path: Path) -> None:
    small, wrong = tmp_path / "small.json", tmp_path / "wrong.json"
    small.write_bytes(api.dump(api.condense(anthropic(*TWICE), configuration(lossless_prelude=PRELUDE))))
    wrong.write_bytes(broken(TWICE))
    found = condense("inspect", small, "--json").json["repeats"]
    saved = found["references"]["saved"]
    assert found["references"] == {"resolved": 1, "unresolved": 0, "saved": saved}
    assert found["lossless"]["tokens"] == saved > 0
    shown = condense("inspect", small).text
    assert f"\n1 reference saves {saved:,} tokens already.\n" in shown
    assert f"\nRewriting them would save up to {saved:,} tokens (" in shown
    assert condense("inspect", wrong, "--json").json["repeats"]["references"] == {
        "resolved": 0,
        "unresolved": 1,
        "saved": 0,
    }
    assert "\n1 reference cannot be undone.\n" in condense("inspect", wrong).text


@pytest.mark.parametrize("columns", [80, 120])
def test_inspect_shows_what_json_says(file: Path, columns: int) -> None:
    found = condense("inspect", file, "--json").json["repeats"]["lossless"]
    lines = condense_on_terminal("inspect", file, "--all", columns=columns).plain.splitlines()
    assert max(map(cell_len, lines)) <= columns
    start = next(number for number, line in enumerate(lines) if line.endswith("repeat earlier text"))
    assert lines[start + 2].startswith(f"References would save up to {found['tokens']:,} tokens ({found['percent']}%)")
    rows = [line.split() for line in lines[start + 4 : start + 8]]
    assert [(row[0], row[1]) for row in rows[:3]] == [(s["name"], f"{s['tokens']:,}") for s in found["finders"]]
    assert " ".join(rows[3][:4]) == f"tool_parameters, in addition {found['tool_parameters']['tokens']:,}"


def test_inspect_of_nothing_repeated_has_no_table() -> None:
    shown = condense("inspect", "-", stdin=as_lines([user("go"), *read_turn("1")])).text
    assert "\nNothing repeats.\n" in shown
    assert "finder" not in shown
    assert "References" not in shown


def test_show_finds_what_a_marker_stands_for_behind_references(tmp_path: Path) -> None:
    """A marker names the text without references and is found even where the text had one."""
    first = f"{listing(1)}{LONG}"
    original = referenced(anthropic(user("go"), *read_turn("1", content=first), *read_turn("2"), assistant("ok")))
    assert "[see " in original.messages[2].blocks[0].text
    cut = api.condense(original, configuration(one_pass(individual_config=cut_to(3))))
    (gap,) = gaps_in(cut.transcript.messages[2].blocks[0].text)
    assert gap.hash == short_hash(first)
    (hit,) = find(original, gap.hash)
    assert (hit.position, hit.found, hit.text) == ("2.0", HitKind.CONTENT, first)
    assert hit.block == original.messages[2].blocks[0]
    path = tmp_path / "original.json"
    path.write_bytes(api.dump(api.condense(original, configuration())))
    assert condense("show", path, gap.hash).text == first
    assert condense("show", path, "2:0").text == original.messages[2].blocks[0].text
    assert json.loads(condense("show", path, gap.hash, "--raw").text)["role"] == "user"
