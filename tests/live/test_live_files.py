"""Live: files at work are spared; all is condensed anew where that pays soon."""

from typing import Any

import pytest
from build import assistant, call, read_turn, result, user
from live_replay import as_sent

from condense_cli import Configuration, Live, loads
from condense_cli.core.values import BlockKind
from condense_cli.live.conversation import KEEP_READS
from condense_cli.live.deciding import DecisionKind
from condense_cli.live.freezing import FreezeSettings, _within, freeze, usual_configuration
from condense_cli.toolcalls.files_at_work import blocks_at_work


def pinned(messages: list[Any], turns: int = 100, begin: int = 0, end: int | None = None) -> list[str]:
    transcript = loads(messages, format="anthropic")
    end = len(transcript.messages) if end is None else end
    return [*blocks_at_work(transcript.messages, begin, end, turns)]


def test_the_newest_read_of_each_file_that_was_not_edited_and_what_was_edited() -> None:
    messages = [
        user("Go."),
        *read_turn("a", "a.py", "a"),
        *read_turn("b", "b.py", "b"),
        *read_turn("c", "a.py", "a again"),
        *read_turn("d", "d.py", "d"),
        *edit_turn("e", "b.py"),
        assistant("Done."),
    ]
    assert pinned(messages) == ["6.0", "8.0", "9.0"]
    assert pinned(messages, begin=7) == ["8.0", "9.0"]
    assert pinned(messages, end=8) == ["6.0"]
    assert pinned(messages, turns=4) == ["8.0", "9.0"]
    assert pinned(messages, turns=1) == ["9.0"]


def test_what_was_read_after_an_edit_is_open_again_and_parts_are_apart() -> None:
    messages = [user("Go."), *read_turn("a", "a.py", "a"), *edit_turn("b", "a.py"), *read_turn("c", "a.py", "new")]
    assert pinned(messages) == ["3.0", "6.0"]
    parts = [
        message
        for n in (1, 200)
        for message in (
            assistant([call(f"p{n}", "Read", file_path="a.py", offset=n)]),
            user([result(f"p{n}", f"line {n}")]),
        )
    ]
    assert pinned([user("Go."), *parts, assistant("Done.")]) == ["2.0", "4.0"]


def test_a_file_that_is_written_anew_replaces_what_was_written_into_it() -> None:
    writes = [
        message
        for n in range(2)
        for message in (
            assistant([call(f"w{n}", "Write", file_path="a.py", content=f"x = {n}")]),
            user([result(f"w{n}", "Written.")]),
        )
    ]
    assert pinned([user("Go."), *edit_turn("e", "a.py"), *writes]) == ["5.0"]


# A patch may name the file from another folder, and the shell that shows it prints no more than it was asked for.
def test_what_a_shell_printed_of_files_that_were_touched() -> None:
    def printed(identifier: str, command: str) -> list[Any]:
        return [assistant([call(identifier, "Bash", command=command)]), user([result(identifier, "text")])]

    messages = [
        user("Go."),
        *printed("a", "sed -n '1,260p' src/a.py"),
        *printed("b", "cat b.py"),
        *printed("c", "pytest -q"),
        *printed("d", "ls"),
        *edit_turn("e", "/repo/src/a.py"),
    ]
    assert pinned(messages) == ["2.0", "4.0", "9.0"]
    assert pinned(messages, turns=4) == ["2.0", "9.0"]


# One command after others prints files too; a word of the others names none, and a semicolon may be quoted.
@pytest.mark.parametrize(
    ("command", "stays"),
    [
        ("rg -n 'b.py' src && sed -n '1;9p' src/a.py", True),
        ("pwd; cat a.py", True),
        ("set -e\ncat a.py", True),
        ("pytest || head -20 a.py", True),
        ("touch a.py && cat b.py", False),
        ("pytest a.py | tail -5", False),
        ("echo '; cat a.py'", False),
    ],
)
def test_a_command_after_others_prints_files(command: str, stays: bool) -> None:
    printed = [assistant([call("a", "Bash", command=command)]), user([result("a", "text")])]
    messages = [user("Go."), *printed, *runs(0, 3), *edit_turn("e", "a.py")]
    assert ("2.0" in pinned(messages, turns=4)) is stays


def edit_turn(identifier: str, path: str) -> list[dict[str, Any]]:
    edit = call(identifier, "Edit", file_path=path, old_string="return 1", new_string="return 2")
    return [assistant([edit]), user([result(identifier, "The file was edited.")])]


def listing(name: str) -> str:
    return "\n".join(f"def {name}_{n}(x: int) -> int: return {n} * x  # {name} {n * n}" for n in range(150))


def runs(first: int, last: int) -> list[Any]:
    """Calls of a shell, with what they print."""
    found = []
    for n in range(first, last):
        printed = "\n".join(f"tests/test_{n}.py::test_{m} PASSED in {m} ms" for m in range(200))
        found += [assistant([call(f"c{n}", "Bash", command=f"pytest {n}")]), user([result(f"c{n}", printed)])]
    return found


def work(files: int) -> list[Any]:
    reads = [message for n in range(files) for message in read_turn(f"r{n}", f"src/m{n}.py", listing(f"m{n}"))]
    return [user("Please change every module."), *reads, *runs(0, files), assistant("Now the edits."), user("Go on.")]


def test_open_reads_stay_as_live_comes_and_go_where_that_is_said() -> None:
    messages = work(6)
    fitted = Live(format="anthropic").fit(messages, now=0)
    assert fitted.decision.kind is DecisionKind.SEGMENT
    texts = as_sent(fitted.messages)
    assert all(f"def m{n}_75" in texts for n in range(6))
    for live in (Live(format="anthropic", keep_reads=0), Live(preset="balanced", format="anthropic")):
        assert live._means.keep_reads == 0
    less = Live(format="anthropic", keep_reads=0).fit(messages, now=0)
    assert less.tokens < fitted.tokens
    assert Live(preset="cost", keep_reads=7)._means.keep_reads == 7
    assert Live()._means.keep_reads == KEEP_READS


# What was read and then edited stays in its frozen segment until nothing of it is cached any more.
@pytest.mark.parametrize(("now", "kind"), [(10, DecisionKind.SEGMENT), (1_000, DecisionKind.RENEWAL)])
def test_all_is_condensed_anew_once_the_cache_is_cold(now: float, kind: DecisionKind) -> None:
    live, messages = Live(format="anthropic", policy="economic:1000", keep_reads=40), work(8)
    first = live.fit(messages, now=0)
    assert first.decision.kind is DecisionKind.SEGMENT
    assert "def m3_75" in as_sent(first.messages)
    for n in range(8):
        messages += edit_turn(f"e{n}", f"src/m{n}.py")
    messages += [*runs(8, 16), assistant("Done."), user("Go on.")]
    fitted = live.fit(messages, now=now)
    assert fitted.decision.kind is kind
    assert ("def m3_75" in as_sent(fitted.messages)) is (kind is DecisionKind.SEGMENT)


# What is left of a call stays, without the frame of the call. What is spared stays a call.
def test_calls_of_which_little_is_left_become_notes() -> None:
    noise = [message for n in range(12) for message in read_turn(f"l{n}", f"{n}.log", listing(f"l{n}"))]
    for asked in noise[::2]:
        asked["content"][-1] |= {"name": "Bash", "input": {"command": "make"}}
    messages = [user("Please change every module."), *noise, *work(2)[1:]]
    fitted = Live(format="anthropic").fit(messages, now=0)
    calls = [block.call_id for _, block in loads(fitted.messages).blocks() if block.kind is BlockKind.TOOL_CALL]
    assert {"r0", "r1"} <= set(calls)
    assert not {f"l{n}" for n in range(11)} & set(calls)
    assert "## Bash" in as_sent(fitted.messages)


# To get a report again, the whole task would be done again.
@pytest.mark.parametrize("tool", ["Task", "Agent", "spawn_agent", "Bash"])
def test_reports_of_agents_are_spared(tool: str) -> None:
    report = "\n".join(f"The module part_{n} is fine." for n in range(200))
    asked, answered = read_turn("report", "src/report.py", report)
    asked["content"][-1] |= {"name": tool, "input": {"prompt": "Look at all modules."}}
    messages = [user("Please change every module."), asked, answered, *work(8)[1:]]
    kept = as_sent(Live(format="anthropic").fit(messages, now=0).messages).count("is fine.")
    assert (kept > 150) is (tool != "Bash")


# Whatever is at work: what would not fit the window goes.
def test_files_at_work_go_where_nothing_else_would_fit() -> None:
    writes = [
        message
        for n in range(8)
        for message in (
            assistant([call(f"w{n}", "Write", file_path=f"src/m{n}.py", content=listing(f"m{n}"))]),
            user([result(f"w{n}", "Written.")]),
        )
    ]
    messages = [user("Write the modules."), *writes, assistant("Done."), user("Go on.")]
    fitted = Live(format="anthropic", context_window=16_000).fit(messages, now=0)
    assert fitted.decision.is_change
    assert fitted.tokens < 16_000 < fitted.decision.tokens_before


# Little of the results of the newest messages goes, and of files at work; nothing is spared where no file is at work.
def test_results_that_just_came_are_spared() -> None:
    shorts = [message for n in range(4) for message in read_turn(f"s{n}", f"{n}.py", "x = 1")]
    messages = [user("Go."), *shorts, *runs(0, 1), assistant("Done."), user("Go on.")]
    transcript = loads(messages, format="anthropic")

    def spared(configuration: Configuration, turns: int) -> Configuration:
        means = FreezeSettings(configuration, 2, keep_reads=turns)
        return _within(means, transcript.messages, 0, len(messages) - 2, has_to_fit=False)

    for turns, blocks in ((1, [("8.0", "10.0")]), (0, [])):
        worth = spared(usual_configuration(), turns).passes[-1].extract_config
        assert worth is not None
        assert worth.min_worth is not None
        assert [override.match for override in worth.overrides] == blocks
        assert all(override.min_worth < worth.min_worth for override in worth.overrides)
        pins = spared(Configuration(), turns).pins  # It asks no line what it is worth.
        assert [pin.match for pin in pins if pin.match] == blocks


# What was printed just now stays, and is cut once it is old.
def test_a_result_that_just_came_stays_and_is_cut_later() -> None:
    means = FreezeSettings(usual_configuration(), 2, keep_reads=60)
    last = [assistant("Done."), user("Go on.")]
    now = freeze([user("Go."), *runs(0, 1), *last], 0, means, format_name="anthropic", model=None)
    assert now == "nothing would get smaller"
    later = freeze([user("Go."), *runs(0, 4), *last], 0, means, format_name="anthropic", model=None)
    assert not isinstance(later, str)
    assert len(as_sent(later.output[2:3])) < len(as_sent(runs(0, 1)[1:])) / 2
