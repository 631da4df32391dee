"""Answers of hooks at events of clients; faults are never reported to the client."""

import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import killing
import pytest
from compacted_work import REQUEST, SUMMARY, before_in_claude, claude_summary
from helpers import as_lines, condense, condense_process

from condense_cli.clients import hooks
from condense_cli.storage.backups import backups_of, keep_snapshot

SESSION = "0b7e63aa-0000-4000-8000-000000000001"
CLIENT = "claude-code"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "condense" / "hooks"


@pytest.fixture(autouse=True)
def frees(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sessions that were measured beside an event; what comes out is always the same."""
    begun: list[str] = []
    monkeypatch.setattr(hooks, "_measure_beside", lambda client, session, path: begun.append(path))
    monkeypatch.setattr(hooks, "measure_freed", lambda client, session, path, tokens: 53_000)
    return begun


def at(path: Path, **more: Any) -> dict[str, Any]:
    return {"session_id": SESSION, "transcript_path": str(path), **more}


def answered(tokens: int, model: str = "claude-sonnet-4-5", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": tokens - 110, "output_tokens": 100}
    return {"type": "assistant", "message": {"model": model, "usage": usage}, **more}


def session(path: Path, *records: dict[str, Any]) -> Path:
    path.write_bytes(as_lines([*before_in_claude(), *records]))
    return path


def said(path: Path, client: str = CLIENT) -> str:
    text = hooks.warn_when_full(client, at(path))
    return str(json.loads(text)["systemMessage"]) if text else ""


# Once for each threshold, and anew when the session was compacted in between.
def test_it_says_once_for_each_threshold_that_it_is_time(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    percents = [10, 61, 62, 70, 76, 59, 61, 91, 99, 20, 65]
    heard = []
    for percent in percents:
        text = said(session(path, answered(2_000 * percent)))
        heard.append(percent if text else 0)
    assert heard == [0, 61, 0, 0, 76, 0, 0, 91, 0, 0, 65]


def test_the_word_has_the_numbers_and_what_to_do(tmp_path: Path) -> None:
    assert said(session(tmp_path / "s.jsonl", answered(124_000))) == (
        "condense: 62% of the context window is in use (124,000 of 200,000 tokens). "
        "Condensing would free about 53,000: exit, then condense run --session 0b7e63aa --new-session"
        "; about $0.27 once, for its cache, and $0.016 less with each request"
    )


def heard(path: Path, percents: Sequence[int]) -> list[int]:
    return [percent for percent in percents if said(session(path, answered(2_000 * percent)))]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"CONDENSE_HINTS": "20, 90%"}, [21, 91]),
        ({"CONDENSE_HINTS": "off"}, []),
        ({"CONDENSE_HINTS": "now and then"}, [61, 76, 91]),
        ({"CONDENSE_HINTS_TURNS": "4"}, [61, 93]),
        ({"CONDENSE_HINTS_LEAST": "90k"}, []),
        ({"CONDENSE_HINTS_LEAST": "9k"}, [61, 76, 91]),
    ],
)
def test_words_come_where_and_as_often_as_the_user_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: list[int]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert heard(tmp_path / "s.jsonl", [21, 61, 76, 77, 91, 93, 94, 96]) == expected


def test_codex_says_itself_how_large_its_window_is(tmp_path: Path) -> None:
    info = {"last_token_usage": {"input_tokens": 180_000, "output_tokens": 2_000}, "model_context_window": 258_400}
    count = {"type": "event_msg", "payload": {"type": "token_count", "info": info}}
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(as_lines([{"type": "session_meta", "payload": {}}, count]))
    assert said(path, "codex").startswith("condense: 70% of the context window is in use (182,000 of 258,400 tokens).")
    path.write_bytes(as_lines([count, {"type": "compacted", "payload": {}}]))
    assert said(path, "codex") == ""


@pytest.mark.parametrize(
    "record",
    [
        answered(190_000, isSidechain=True),
        answered(190_000, "<synthetic>"),
        {"type": "user", "message": {"usage": {"input_tokens": 190_000}}},
        {"type": "assistant", "message": {"usage": None}},
        {"type": "assistant", "message": "usage"},
    ],
)
def test_only_answers_of_the_conversation_count(
    tmp_path: Path, record: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    path = tmp_path / "s.jsonl"
    assert said(session(path, answered(20_000), record)) == ""
    assert said(session(path, answered(130_000), record)).startswith("condense: 65%")


def test_what_was_in_use_before_a_compaction_is_not_in_use(tmp_path: Path) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary"}
    assert said(session(tmp_path / "s.jsonl", answered(190_000), boundary)) == ""


def test_an_answer_far_from_the_end_is_found(tmp_path: Path) -> None:
    result = {"type": "user", "message": {"content": "x" * 3_000_000}}
    assert said(session(tmp_path / "s.jsonl", answered(130_000), result)).startswith("condense: 65%")


# Claude Code writes the answer down at about the time at which it tells of the end of the turn.
def test_an_answer_that_the_client_is_writing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"type": "user", "message": {"role": "user", "content": "And now?"}}
    path = session(tmp_path / "s.jsonl", answered(20_000), asked)
    waits: list[float] = []

    def go_on(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            session(path, answered(20_000), asked, answered(130_000), {"type": "system", "content": "user assistant"})

    monkeypatch.setattr("time.sleep", go_on)
    assert said(path).startswith("condense: 65%")
    assert len(waits) == 2


# The window that the client works with goes before the one that is listed.
def test_the_window_is_the_one_that_the_client_told(tmp_path: Path) -> None:
    hooks.status_line(CLIENT, {"session_id": SESSION, "context_window": {"context_window_size": 1_000_000}})
    assert said(session(tmp_path / "s.jsonl", answered(130_000))) == ""
    assert said(session(tmp_path / "s.jsonl", answered(650_000))).startswith("condense: 65%")


def test_what_condensing_frees_is_measured_now_and_then(tmp_path: Path, frees: list[str]) -> None:
    path = tmp_path / "s.jsonl"
    counted = []
    for percent in (20, 35, 36):
        said(session(path, answered(2_000 * percent)))
        counted.append(len(frees))
    assert counted == [0, 1, 2]
    hooks.remember(CLIENT, SESSION, measured=72_000)
    for percent in (44, 47):
        said(session(path, answered(2_000 * percent)))
        counted.append(len(frees))
    assert counted[3:] == [2, 3]


def test_measuring_remembers_what_the_preset_would_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = session(tmp_path / "s.jsonl", answered(130_000))
    assert hooks.measure(CLIENT, at(path)) == ""
    remembered = hooks.notes_of(CLIENT, SESSION)
    assert remembered["measured"] == 130_000
    assert remembered["frees"] >= 0


# The client writes the compaction down only later: the file ends before it.
def test_after_a_compaction_the_model_gets_a_recap_once(tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl")
    given = at(path, source="compact")
    answer = json.loads(hooks.give_recap(CLIENT, given))["hookSpecificOutput"]
    assert answer["hookEventName"] == "SessionStart"
    assert answer["additionalContext"].startswith("Recap of 5 messages")
    assert "Please make the limits larger." in answer["additionalContext"]
    assert hooks.give_recap(CLIENT, given) == ""
    path.write_bytes(claude_summary())
    assert hooks.give_recap(CLIENT, given)


def test_where_the_compaction_is_in_the_file_only_what_was_lost_is_told(tmp_path: Path) -> None:
    lines = claude_summary().splitlines(keepends=True)
    path = tmp_path / "s.jsonl"
    end = next(number for number, line in enumerate(lines) if SUMMARY.encode() in line)
    path.write_bytes(b"".join(lines[: end + 1]))
    text = json.loads(hooks.give_recap(CLIENT, at(path, source="compact")))["hookSpecificOutput"]["additionalContext"]
    assert text.startswith("What the last compaction lost of 5 messages")
    assert "retry_limit_total = 7" in text


# Codex tells of a compaction before, or after, it has written it down.
def test_a_compaction_that_codex_is_writing_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [text_item(REQUEST)]}}
    compacted = {"type": "compacted", "payload": {"message": SUMMARY, "replacement_history": [said["payload"]]}}
    meta = {"type": "session_meta", "payload": {"id": SESSION}}
    answer = {
        "type": "response_item",
        "payload": {"type": "message", "role": "assistant", "content": [text_item("yes")]},
    }
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(compactly([meta, said, compacted, said, answer]))
    waits: list[float] = []

    def go_on(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            path.write_bytes(compactly([meta, said, compacted, said, answer, compacted]))

    monkeypatch.setattr("time.sleep", go_on)
    text = json.loads(hooks.give_recap("codex", at(path, source="compact")))["hookSpecificOutput"]["additionalContext"]
    assert text.startswith("What the last compaction lost")
    assert len(waits) == 2


def text_item(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def compactly(records: list[dict[str, Any]]) -> bytes:
    records = [{"timestamp": "2026-11-23T01:00:00Z", **record} for record in records]
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


@pytest.mark.parametrize("source", ["startup", "resume", "clear", None])
def test_at_any_other_start_nothing_is_said(tmp_path: Path, source: str | None) -> None:
    assert hooks.give_recap(CLIENT, at(session(tmp_path / "s.jsonl"), source=source)) == ""


# A client puts longer ones into a file, and the model sees the beginning alone.
def test_a_recap_is_no_longer_than_clients_take(tmp_path: Path) -> None:
    texts = [
        f"Look at part_{n} with option_{n} of module_{n}. Never touch file_{n}.py again, whatever comes."
        for n in range(900)
    ]
    path = tmp_path / "s.jsonl"
    path.write_bytes(as_lines([{"role": "user", "content": text} for text in texts]))
    text = json.loads(hooks.give_recap(CLIENT, at(path, source="compact")))["hookSpecificOutput"]["additionalContext"]
    assert 5_000 < len(text) <= 9_500
    assert text.rstrip().endswith(">")


@pytest.mark.parametrize("event", ["stop", "session-start", "pre-compact", "status-line", "measure", "nonsense"])
@pytest.mark.parametrize(
    "given", [b"", b"[]", b"{", b'{"transcript_path": 3}', b'{"transcript_path": "/nowhere.jsonl"}']
)
def test_a_hook_never_fails_and_says_nothing(
    event: str, given: bytes, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    hooks.run([CLIENT, event])
    out, error = capfdbinary.readouterr()
    assert (out, error) == (b"", b"")


def test_what_went_wrong_is_seen_in_the_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    broken = tmp_path / "s.jsonl"
    broken.write_bytes(b"no session")
    event = json.dumps(at(broken, source="compact")).encode()
    ran = condense_process("hook", CLIENT, "session-start", stdin=event)
    assert (ran.status, ran.stdout, ran.stderr) == (0, b"", "")
    assert "session-start  NotJsonError" in condense("install", CLIENT, "--status").text


def test_faults_are_bounded(cache: Path) -> None:
    for number in range(130):
        hooks.add_fault(CLIENT, "stop", f"{number} " + "x" * 1_000)
    found = hooks.faults_of(CLIENT)
    assert len(found) == 100
    assert found[-1]["what"].startswith("129 ")
    assert hooks.faults_of("codex") == []


@pytest.mark.parametrize("name", ["../../x", "", "a/b", "x" * 100])
def test_no_session_leads_out_of_the_folder(name: str, cache: Path) -> None:
    assert hooks.notes_of(CLIENT, name) == {}
    with pytest.raises(OSError, match="no session"):
        hooks.remember(CLIENT, name, said=[1])
    assert not cache.exists()


# A hundredth of a second matters at every turn: nothing of the engine is imported to find that there is nothing to do.
@pytest.mark.parametrize("event", ["stop", "pre-compact", "session-start", "status-line"])
def test_nothing_heavy_is_imported_when_there_is_nothing_to_do(tmp_path: Path, event: str) -> None:
    path = session(tmp_path / "s.jsonl", answered(20_000))
    keep_snapshot(path, now=datetime(2026, 11, 23, tzinfo=UTC))
    code = f"""
import sys
from condense_cli.cli import main
sys.argv = ["condense", "hook", "claude-code", "{event}"]
main()
rooms = (name.split(".", 1)[1] for name in sys.modules if name.startswith("condense_cli."))
print(*{{room if room.startswith(("clients", "core.")) else room.split(".")[0] for room in rooms}} - {{"core"}})
print(*{{"typer", "msgspec", "subprocess", "hashlib"}} & {{*sys.modules}})
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(at(path)), capture_output=True, text=True, check=True
    )
    assert {*ran.stdout.split()} - {"core.user_folders", "core.version"} == {"cli", "clients", "clients.hooks"}


# The snapshot's file has other bytes now, as many as before.
def test_a_session_that_was_rewritten_is_kept_anew(tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl", answered(20_000))
    for data in (path.read_bytes(), path.read_bytes().swapcase()):
        path.write_bytes(data)
        for _ in range(2):
            assert hooks.keep_session(CLIENT, at(path)) == ""
        assert backups_of(path)[0].path.read_bytes() == data
    assert len(backups_of(path)) == 2


# The folder that a client runs a hook in belongs to a project.
def test_no_code_of_a_project_runs(tmp_path: Path) -> None:
    for name in ("json", "condense_cli", "msgspec"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('code of the project ran')")
    from condense_cli.clients.settings import program

    path = session(tmp_path / "s.jsonl")
    given = json.dumps(at(path, source="compact")).encode()
    ran = subprocess.run([*program(), "hook", CLIENT, "session-start"], input=given, cwd=tmp_path, capture_output=True)
    assert b"Recap of 5 messages" in ran.stdout, ran.stderr


# The command of the user's is answered by us: the model is never asked.
@pytest.mark.slow
def test_a_command_writes_a_smaller_copy(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-work" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(killing.session())
    answer = json.loads(hooks.condense_now(CLIENT, at(path, command_name="condense", command_args="speed")))
    assert answer["decision"] == "block"
    (new,) = (each for each in path.parent.glob("*.jsonl") if each != path)
    assert "condense wrote a smaller copy" in answer["reason"]
    assert answer["reason"].endswith(f"in a shell: claude --resume {new.stem}")
    again = json.loads(hooks.condense_now(CLIENT, at(path, command_name="condense", command_args="no-such-preset")))
    assert "no-such-preset" in again["reason"]
    assert hooks.condense_now(CLIENT, at(path, command_name="other")) == ""
    nothing = json.loads(hooks.condense_now(CLIENT, at(tmp_path / "gone.jsonl", command_name="condense")))
    assert nothing["reason"] == "There is no session file yet."
