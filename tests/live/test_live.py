"""Live: what it sends, when it decides, and what it does when something goes wrong."""

import base64
import copy
import json
import sqlite3
import stat
from base64 import b64decode
from pathlib import Path
from typing import Any

import further_agents
import pytest
from build import assistant, call, conversation, read_turn, result, text, thinking, user
from live_conversations import chat, lines, live_of
from live_replay import Eager, Replay, as_sent, requests_of
from pictures import PIXEL

from condense_cli import Live
from condense_cli.live import conversation as module
from condense_cli.live.deciding import DecisionKind
from condense_cli.live.policies import Moment
from condense_cli.live.requests import marks_in, tokens_of
from condense_cli.live.state import StateFile


def long_conversation(turns: int = 10) -> list[Any]:
    middle = [message for n in range(turns) for message in read_turn(f"toolu_{n}", f"src/{n}.py", lines(f"file{n}"))]
    return [user("Please find the bug."), *middle, assistant("Found it."), user("Thanks, go on.")]


def test_a_small_conversation_is_sent_as_it_came() -> None:
    messages = conversation(3)
    fitted = Live().fit(messages)
    assert (fitted.messages, fitted.decision.kind, fitted.frozen) == (messages, DecisionKind.NONE, 0)


def test_what_is_decided_is_sent_again() -> None:
    live, messages = live_of(), long_conversation()
    first = live.fit(messages)
    assert first.decision.kind is DecisionKind.SEGMENT
    assert 0 < first.decision.tokens_after < first.decision.tokens_before
    again = live.fit([*messages, assistant("Good."), user("And now?")], decide=False)
    assert again.decision.kind is DecisionKind.NONE
    assert as_sent(again.messages[: first.frozen]) == as_sent(first.messages[: first.frozen])
    assert again.messages[-2:] == [assistant("Good."), user("And now?")]


# What the caller does with the messages that it was given changes nothing that is frozen.
def test_the_caller_may_change_what_it_got() -> None:
    live, messages = live_of(), long_conversation()
    first = live.fit(messages)
    before = as_sent(first.messages)
    for message in first.messages[: first.frozen]:
        message["content"] = "changed"
    assert as_sent(live.fit(messages, decide=False).messages) == before


def test_references_lead_back_to_what_stands_earlier(anywhere: None) -> None:
    same = lines("same")
    messages = [user("Go."), *read_turn("a", "x.py", same), *read_turn("b", "y.py", lines("other"))]
    live = live_of(preset="lossless", keep_recent=1)
    assert live.fit(messages).frozen == 0
    messages += [*read_turn("c", "x.py", same), assistant("Done."), user("Go on.")]
    fitted = live.fit(messages)
    assert fitted.decision.kind is DecisionKind.SEGMENT
    assert fitted.messages[2] == messages[2]
    assert "previous" in str(fitted.messages[6]["content"])


# Marks that a client moves, a text as a string or as a block, and times are no changes.
def test_what_a_client_changes_without_meaning_it_is_no_change() -> None:
    live, messages = live_of(), long_conversation()
    fitted = live.fit(messages)
    other = copy.deepcopy(messages)
    other[0] = {"role": "user", "content": [{**text(other[0]["content"]), "cache_control": {"type": "ephemeral"}}]}
    other[1]["timestamp"] = "2026-11-22T20:00:00Z"
    other[2]["content"][0]["cache_control"] = {"type": "ephemeral"}
    again = live.fit(other, decide=False)
    assert (again.covered, again.frozen) == (fitted.covered, fitted.frozen)


@pytest.mark.parametrize(
    "change",
    [
        lambda messages: messages[2]["content"][0].update(content="edited"),
        lambda messages: messages[1]["content"][0]["input"].update(file_path="other.py"),
        lambda messages: messages.insert(1, assistant("Hm.")),
        lambda messages: messages.__setitem__(slice(0, 12), [user("This is what happened so far: nothing.")]),
        lambda messages: messages.__setitem__(0, user("Please find the bug.\n\nAnd hurry up.")),
        lambda messages: messages.insert(1, {"role": "system", "content": "Be brief."}),
        lambda messages: messages.__delitem__(slice(1, 3)),
    ],
    ids=["an edit", "a changed call", "a message more", "a compaction", "merged prompts", "a system message", "a fork"],
)
def test_a_changed_history_is_sent_as_it_came(change: Any) -> None:
    live, messages = live_of(), long_conversation()
    live.fit(messages)
    other = copy.deepcopy(messages)
    change(other)
    fitted = live.fit(other, decide=False)
    assert (fitted.covered, fitted.messages) == (0, other)


# After a rewind the segments before it stay, and the other branch is still known.
def test_a_rewind_falls_back_to_a_shorter_list() -> None:
    live, messages = live_of(), long_conversation(12)
    for request in requests_of(messages):
        last = live.fit(request)
        if last.decision.is_change:
            half = request
    whole = live.fit(messages)
    rewound = live.fit(messages[:14], decide=False)
    assert 0 < rewound.covered < 14 < whole.covered
    assert rewound.messages[rewound.frozen :][1:] == messages[:14][rewound.covered :][1:]
    assert as_sent(live.fit(messages, decide=False).messages) == as_sent(whole.messages)
    assert len(half) > 14


class Failing(Eager, frozen=True):
    def due(self, moment: Moment) -> str:
        if moment.used > 60_000:
            raise RuntimeError("no")
        return "a test"


def test_an_error_sends_the_last_proven_list() -> None:
    live, messages = live_of(policy=Failing()), long_conversation(6)
    before = live.fit(messages)
    assert before.decision.kind is DecisionKind.SEGMENT
    more = [*messages, *read_turn("more", "big.py", lines("big", 6_000))]
    fitted = live.fit(more)
    assert (fitted.decision.kind, fitted.decision.reason) == (DecisionKind.FAILED, "RuntimeError: no")
    assert as_sent(fitted.messages) == as_sent([*before.messages[: before.frozen], *more[before.covered :]])


@pytest.mark.parametrize("messages", [[object()], [{"role": "user", "content": {1, 2}}], ["hello"], [None, 3]])
def test_an_unknown_shape_goes_out_as_it_came(messages: list[Any]) -> None:
    fitted = live_of().fit(messages)
    assert fitted.messages == messages
    assert fitted.decision.kind in (DecisionKind.FAILED, DecisionKind.DECLINED)


# Models that bind thinking to its prefix: a decision drops what it made invalid, and what comes later stays.
def test_invalid_thinking_stays_away() -> None:
    messages: list[Any] = [user("Go.")]
    for n in range(8):
        asked = assistant([thinking(f"thought {n}"), call(f"t{n}", "Read", file_path=f"{n}.py")])
        messages += [asked, user([result(f"t{n}", lines(f"f{n}"))])]
    live = live_of(model="claude-opus-5-5")
    first = live.fit(messages)
    assert first.decision.kind is DecisionKind.SEGMENT
    assert "thought" not in str(first.messages[first.frozen :])
    messages += [assistant([thinking("thought later"), text("Done.")]), user("Go on.")]
    again = live.fit(messages, decide=False)
    assert as_sent(again.messages[: len(first.messages)]) == as_sent(first.messages)
    assert "thought later" in str(again.messages[-2])


def marks(messages: list[Any]) -> list[int]:
    return [at for at, message in enumerate(messages) if "cache_control" in str(message)]


def test_a_mark_lies_at_the_end_of_the_frozen_part() -> None:
    live, messages = live_of(), long_conversation()
    messages[-1] = user([{**text("Thanks."), "cache_control": {"type": "ephemeral"}}])
    fitted = live.fit(messages)
    assert marks(fitted.messages) == [fitted.frozen - 1, len(fitted.messages) - 1]
    # At the next decision the old end keeps its mark, so that what is cached is found, and the client's newest stays.
    messages += [*read_turn("n", "n.py", lines("new")), *read_turn("m", "m.py"), assistant("Done.")]
    messages[-1] = assistant([{**text("Done."), "cache_control": {"type": "ephemeral"}}])
    second = live.fit(messages)
    assert second.decision.kind is DecisionKind.SEGMENT
    assert marks(second.messages) == [fitted.frozen - 1, len(second.messages) - 1]
    third = live.fit([*messages, user("And now?")], decide=False)
    assert marks(third.messages) == [second.frozen - 1, len(second.messages) - 1]


# What follows the client's last mark may be gone in the next request.
def test_nothing_behind_the_last_mark_is_frozen() -> None:
    messages = long_conversation()
    messages[6]["content"][0]["cache_control"] = {"type": "ephemeral"}
    assert 0 < live_of().fit(messages).covered <= 7


def test_a_restart_keeps_the_bytes_and_no_content(tmp_path: Path) -> None:
    path, messages = tmp_path / "live.db", long_conversation()
    first = live_of(state=path).fit(messages)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"value of item" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert as_sent(live_of(state=path).fit(messages, decide=False).messages) == as_sent(first.messages)
    assert live_of(state=path, keep_recent=3).fit(messages, decide=False).covered == 0


# The request that was decided about is the one that is interrupted: the client adds to its newest message.
@pytest.mark.parametrize("is_result", [True, False])
def test_a_restart_after_an_interrupt_keeps_the_bytes(tmp_path: Path, is_result: bool) -> None:
    path, messages = tmp_path / "live.db", long_conversation()
    newest = result("toolu_n", lines("newest")) if is_result else text("Look at file2.")
    messages += [assistant([call("toolu_n", "Read", file_path="n.py")] if is_result else "Done."), user([newest])]
    first = live_of(state=path).fit(messages)
    messages[-1] = user([newest, text("[Request interrupted by user]"), text("Once more.")])
    again = live_of(state=path).fit(messages, decide=False)
    assert (again.frozen, again.covered) == (first.frozen, first.covered)
    assert as_sent(again.messages[: again.frozen]) == as_sent(first.messages[: first.frozen])
    assert again.messages[-1] == messages[-1]


# Nor does a note behind the client's last mark matter, which is gone with the next request.
def test_a_restart_without_a_note_keeps_the_bytes(tmp_path: Path) -> None:
    path, messages = tmp_path / "live.db", long_conversation()
    messages[-1] = user([{**text("Thanks, go on."), "cache_control": {"type": "ephemeral"}}])
    first = live_of(state=path).fit([*messages, {"role": "system", "content": "A note about file2."}])
    again = live_of(state=path).fit([*messages, assistant("Yes."), user("Go on.")], decide=False)
    assert (again.frozen, again.covered) == (first.frozen, first.covered)
    assert as_sent(again.messages[: again.frozen]) == as_sent(first.messages[: first.frozen])


# What was frozen over messages that were taken back cannot be computed again.
def test_what_is_decided_after_a_restart_and_a_rewind_is_sent_again(tmp_path: Path) -> None:
    path, messages = tmp_path / "live.db", long_conversation()
    live_of(state=path).fit(messages)
    live, rewound = live_of(state=path), messages[:-1]
    first = live.fit(rewound)
    assert first.decision.kind is DecisionKind.SEGMENT
    again = live.fit(rewound, decide=False)
    assert (again.frozen, as_sent(again.messages)) == (first.frozen, as_sent(first.messages))


def test_state_that_is_kept_needs_no_computing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, messages = tmp_path / "live.db", long_conversation()
    first = live_of(state=StateFile(path, keep=True)).fit(messages)
    monkeypatch.setattr("condense_cli.live.freezing.freeze", None)
    again = live_of(state=StateFile(path, keep=True)).fit(messages, decide=False)
    assert as_sent(again.messages) == as_sent(first.messages)


# A damaged file is no reason to send what nobody said, nor to send nothing.
@pytest.mark.parametrize("output", [b"no JSON", b'[{"role":"user","content":"evil"}]', b""])
def test_kept_content_that_was_changed_is_computed_again(tmp_path: Path, output: bytes) -> None:
    path, messages = tmp_path / "live.db", long_conversation()
    first = live_of(state=StateFile(path, keep=True)).fit(messages)
    with sqlite3.connect(path) as connection:
        [(data,)] = connection.execute("SELECT list FROM segments").fetchall()
        [segment] = json.loads(data)
        segment["output"] = base64.b64encode(output).decode()
        connection.execute("UPDATE segments SET list = ?", (json.dumps([segment]).encode(),))
    again = live_of(state=StateFile(path, keep=True)).fit(messages, decide=False)
    assert again.decision.kind is DecisionKind.NONE
    assert as_sent(again.messages) == as_sent(first.messages)


# Another version of the program may condense otherwise: then what it makes is sent, and that is said.
def test_what_comes_out_otherwise_is_a_renewal(tmp_path: Path) -> None:
    path, messages = tmp_path / "live.db", long_conversation()
    first = live_of(state=path).fit(messages)
    with sqlite3.connect(path) as connection:
        [(data,)] = connection.execute("SELECT list FROM segments").fetchall()
        other = data.replace(b'"digest":"', b'"digest":"0')
        connection.execute("UPDATE segments SET list = ?", (other,))
    live = live_of(state=path)
    fitted = live.fit(messages)
    assert fitted.decision.kind is DecisionKind.RENEWAL
    assert as_sent(fitted.messages) == as_sent(first.messages)
    assert live.fit(messages, decide=False).decision.kind is DecisionKind.NONE


def test_a_state_that_cannot_be_used_is_no_obstacle(tmp_path: Path) -> None:
    path, messages = tmp_path / "live.db", long_conversation()
    path.write_bytes(b"no database at all, but a text of some length" * 100)
    live = live_of(state=path)
    first = live.fit(messages)
    assert first.messages == messages
    assert first.decision.reason == first.warning
    assert first.warning.startswith(f"{path} cannot be used (file is not a database): a restart will find nothing")
    second = live.fit(messages)
    assert second.decision.kind is DecisionKind.SEGMENT
    assert second.warning == first.warning
    assert live_of(state=tmp_path / "other.db").fit(messages).warning == ""


def test_a_state_that_cannot_be_written_is_said_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def remember(self: StateFile, *lists: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(StateFile, "remember", remember)
    live, messages = live_of(state=tmp_path / "live.db"), long_conversation()
    first = live.fit(messages)
    assert first.decision.kind is DecisionKind.SEGMENT
    assert "No space left on device" in first.warning
    assert as_sent(live.fit(messages, decide=False).messages) == as_sent(first.messages)


def test_a_cold_cache_renews() -> None:
    live, messages = Live(preset="cost", policy="economic:1000", keep_recent=2, format="anthropic"), long_conversation()
    assert live.fit(messages, now=0).decision.kind is DecisionKind.SEGMENT
    messages += [message for n in range(5) for message in read_turn(f"n{n}", f"n{n}.py", lines(f"n{n}"))]
    warm = copy.deepcopy(live).fit(messages, now=200)
    assert warm.decision.kind is DecisionKind.SEGMENT
    assert live.fit(messages, now=600).decision.kind is DecisionKind.RENEWAL


def test_the_limit_is_a_reason_for_every_policy() -> None:
    live = Live(preset="cost", policy="tokens:900000", context_window=30_000, keep_recent=2, format="anthropic")
    fitted = live.fit(long_conversation())
    assert fitted.decision.is_change
    assert fitted.tokens < 27_000


# A try that did not pay is not made again at every request.
def test_a_declined_decision_waits_until_more_came() -> None:
    live, messages = Live(preset="cost", policy="economic:0", keep_recent=2, format="anthropic"), long_conversation()
    live.fit(messages, now=0, decide=False)
    kinds = [live.fit(messages, now=0).decision.kind for _ in range(3)]
    assert kinds == [DecisionKind.DECLINED, DecisionKind.NONE, DecisionKind.NONE]


# But where the window is nearly full nothing waits.
def test_a_declined_decision_is_made_at_the_limit() -> None:
    live = Live(
        preset="cost", policy="economic:0", context_window=200_000, keep_recent=2, cache_life=3600, format="anthropic"
    )
    messages = long_conversation()
    live.fit(messages, now=0, decide=False)
    assert live.fit(messages, now=0).decision.kind is DecisionKind.DECLINED
    messages += [assistant("Yes."), user("Go on.")]
    full = {"input_tokens": 10, "cache_read_input_tokens": 189_000, "cache_creation_input_tokens": 0}
    decision = live.fit(messages, now=0, usage=full).decision
    assert decision.is_change
    assert "the limit is" in decision.reason


def test_reported_usage_counts() -> None:
    live, messages = Live(preset="cost", policy="tokens:150000", keep_recent=2, format="anthropic"), long_conversation()
    assert live.fit(messages).decision.kind is DecisionKind.NONE
    usage = {"input_tokens": 10, "cache_read_input_tokens": 149_000, "cache_creation_input_tokens": 2_000}
    messages += [assistant("Yes."), user("Go on.")]
    assert live.fit(messages, usage=usage).decision.kind is DecisionKind.SEGMENT


def test_importing_the_package_loads_nothing_of_it() -> None:
    import subprocess
    import sys

    code = "import sys, condense_cli; print([name for name in sys.modules if 'condense_cli.' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert module.Live is Live


# The input of the Responses API may be a text alone.
def test_a_text_is_one_message() -> None:
    assert Live().fit("Hello").messages == [{"role": "user", "content": "Hello"}]


# After a restart in the middle of a rewind what comes later is not forgotten.
def test_a_rewind_after_a_restart_forgets_nothing(tmp_path: Path) -> None:
    path, messages = tmp_path / "live.db", long_conversation(12)
    live = live_of(state=path)
    for request in requests_of(messages):
        live.fit(request)
    last = live.fit(messages)
    later = live_of(state=path)
    rewound = later.fit(messages[:14], decide=False)
    assert 0 < rewound.covered < 14
    assert as_sent(later.fit(messages, decide=False).messages) == as_sent(last.messages)


def test_chat_and_responses_are_fitted_too() -> None:
    chat: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go."}]
    items: list[Any] = [{"role": "user", "content": "Go."}]
    for n in range(8):
        name, arguments = "read", f'{{"path": "{n}.py"}}'
        made = {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        chat += [{"role": "assistant", "content": None, "tool_calls": [made]}]
        chat += [{"role": "tool", "tool_call_id": f"c{n}", "content": lines(f"f{n}")}]
        items += [{"type": "function_call", "call_id": f"c{n}", "name": name, "arguments": arguments}]
        items += [{"type": "function_call_output", "call_id": f"c{n}", "output": lines(f"f{n}")}]
    for format, messages in (("openai-chat", chat), ("openai-responses", items)):
        replay = Replay(live_of(format=None, keep_recent=1), format)
        fitted = [replay.send(request) for request in requests_of(messages)]
        assert DecisionKind.SEGMENT in [each.decision.kind for each in fitted]
        assert "cache_control" not in str(fitted[-1].messages)


Json = dict[str, Any]
POINT: Json = {"cachePoint": {"type": "default"}}
CONVERSE = further_agents.converse(chat(10))["messages"]
CONTENTS = [*further_agents.contents(chat(10))]


def live(**more: Any) -> Live:
    return Live(preset="cost", policy=Eager(), keep_recent=2, **more)


@pytest.mark.parametrize(("format", "messages"), [("bedrock-converse", CONVERSE), ("gemini-contents", CONTENTS)])
@pytest.mark.parametrize("is_named", [True, False])
def test_it_is_condensed(format: str, messages: list[Json], is_named: bool) -> None:
    one = live(format=format if is_named else None)
    fitted = Replay(one, format, keep_recent=2).send(messages)
    assert fitted.decision.kind is DecisionKind.SEGMENT
    assert len(json.dumps(fitted.messages)) < len(json.dumps(messages)) / 2
    again = one.fit([*messages, messages[1], messages[0]], decide=False)
    assert again.messages[: again.frozen] == fitted.messages[: fitted.frozen]


def test_marks_of_converse_are_parts() -> None:
    marked = copy.deepcopy(CONVERSE)
    marked[-3]["content"].append(POINT)
    marked[-1]["content"].append(POINT)
    fitted = live().fit(marked, system=[{"text": "Be brief."}, POINT], tools={"tools": [POINT]})
    assert fitted.decision.kind is DecisionKind.SEGMENT
    places = [at for at, message in enumerate(fitted.messages) for part in message["content"] if "cachePoint" in part]
    assert places == [fitted.frozen - 1, len(fitted.messages) - 1]
    assert (marks_in([{"text": "Be brief."}, POINT]), marks_in({"tools": [POINT]})) == (1, 1)
    unmarked = live().fit(CONVERSE)
    assert "cachePoint" not in json.dumps(unmarked.messages)


def test_marks_that_move_change_nothing() -> None:
    one, two = copy.deepcopy(CONVERSE), copy.deepcopy([*CONVERSE, *CONVERSE[1:3]])
    one[-1]["content"].append(POINT)
    two[-1]["content"].append(POINT)
    live_ = live()
    first = live_.fit(one)
    second = live_.fit(two, decide=False)
    assert second.frozen == first.frozen > 0


@pytest.mark.parametrize("format", ["bedrock-converse", "gemini-contents"])
def test_files_stay_bytes(format: str) -> None:
    data = b64decode(PIXEL)
    if format == "bedrock-converse":
        messages = copy.deepcopy(CONVERSE)
        messages[0]["content"].append({"image": {"format": "png", "source": {"bytes": data}}})
        path = ["content", -1, "image", "source", "bytes"]
    else:
        messages = copy.deepcopy(CONTENTS)
        messages[0]["parts"].append({"inline_data": {"mime_type": "image/png", "data": data}})
        path = ["parts", -1, "inline_data", "data"]
    fitted = live(format=format).fit(messages)
    assert fitted.frozen > 0
    found: Any = fitted.messages[0]
    for key in path:
        found = found[key]
    assert found == data


def test_thinking_that_became_invalid_goes() -> None:
    messages = copy.deepcopy(CONVERSE)
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln" * 20}}}
    messages[-2]["content"].insert(0, thought)
    fitted = live(model="us.anthropic.claude-fable-5-1").fit(messages)
    assert fitted.frozen > 0
    assert "reasoningContent" not in json.dumps(fitted.messages)


def test_usage_counts_what_came_from_the_cache_once() -> None:
    converse = {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 100, "totalTokens": 115}
    gemini = {"promptTokenCount": 110, "candidatesTokenCount": 5, "cachedContentTokenCount": 100}
    assert (tokens_of(converse), tokens_of(gemini)) == (115, 115)
