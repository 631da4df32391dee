"""Answer events of clients: `condense hook CLIENT EVENT` reads the event as JSON from standard input.

A hook must not get in the way. Errors are noted for `condense install CLIENT --status` and shown nowhere else. Clients
wait for the answer, so this file imports only small modules of the standard library; the rest is imported once there is
work to do. Notes are small files in the user's cache folder, one per session. They hold numbers and times, never
content, and can be lost without harm.
"""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from ..core.user_folders import cache_folder

TYPE_CHECKING = False  # Type checkers read it as true. Importing `typing` takes a sixth of the time.
if TYPE_CHECKING:
    from typing import Any, Final

    Notes = dict[str, Any]

_MOST: Final = 500_000_000
"""Bytes of an event. Clients send a few hundred; plugins send the whole conversation."""


def run(arguments: Sequence[str]) -> None:
    """Answer an event on standard output; print nothing if that fails."""
    client, event = (*arguments, "", "")[:2]
    if sys.stdin is None or sys.stdin.isatty():
        return  # A person typed it.
    try:
        given = json.loads(sys.stdin.buffer.read(_MOST) or b"{}")
        text = EVENTS[event](client, given if isinstance(given, dict) else {})
        if text:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    except Exception as error:
        add_fault(client, event, f"{type(error).__name__}: {error}")


def session_of(given: dict[str, Any]) -> str:
    return str(given.get("session_id") or "")


def transcript_of(given: dict[str, Any]) -> str:
    """Return the session's file; empty if there is none yet. A client may name a file before it writes it."""
    path = given.get("transcript_path")
    return path if isinstance(path, str) and path.endswith(".jsonl") and os.path.isfile(path) else ""


def message(text: str) -> str:
    """Make an answer that the client shows to its user, but not to the model."""
    return json.dumps({"systemMessage": text})


def context(event: str, text: str) -> str:
    """Make an answer that the client hands to the model."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


_FAULTS: Final = "faults.jsonl"
_MOST_FAULTS: Final = 100
_LONGEST: Final = 400
"""Newest faults that are kept, and characters of each."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_KEPT_SECONDS: Final = 30 * 24 * 3_600


def folder() -> str:
    """Return the folder of notes in the user's cache folder."""
    return os.path.join(cache_folder(), "hooks")


def notes_of(client: str, session: object) -> Notes:
    """Read the notes of a session; empty if that fails."""
    try:
        found = json.loads(_read(_file(client, session)))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(client: str, session: object, **values: object) -> None:
    """Add to the notes of a session. Raises OSError."""
    path = _file(client, session)
    before = notes_of(client, session)
    if before.items() >= values.items():
        return
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        where = os.path.dirname(path)
        for entry in os.scandir(where):
            with contextlib.suppress(OSError):
                if time.time() - entry.stat().st_mtime > _KEPT_SECONDS:
                    os.unlink(entry.path)
    _replace(path, json.dumps(before | values).encode())


def add_fault(client: str, event: str, what: str) -> None:
    """Note an error. Does nothing if even that fails."""
    with contextlib.suppress(OSError):
        path = os.path.join(folder(), _FAULTS)
        os.makedirs(folder(), mode=0o700, exist_ok=True)
        fault = {"time": round(time.time()), "client": client, "event": event, "what": what[:_LONGEST]}
        lines = _read(path).splitlines()[1 - _MOST_FAULTS :] if os.path.exists(path) else []
        _replace(path, b"\n".join([*lines, json.dumps(fault).encode(), b""]))


def faults_of(client: str) -> list[Notes]:
    """List the errors in hooks of a client, oldest first."""
    try:
        lines = _read(os.path.join(folder(), _FAULTS)).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            fault = json.loads(line)
            if isinstance(fault, dict) and fault.get("client") == client:
                found.append(fault)
    return found


def _file(client: str, session: object) -> str:
    name = str(session)
    if not (_PLAIN.fullmatch(name) and _PLAIN.fullmatch(client)):
        raise OSError(f"no session is called {name[:_LONGEST]!r}")
    return os.path.join(folder(), client, f"{name}.json")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _replace(path: str, data: bytes) -> None:
    """Write a file whole or not at all."""
    new = f"{path}.{os.getpid()}.new"
    with open(new, "wb") as file:
        file.write(data)
    os.replace(new, path)


def keep_session(client: str, given: dict[str, Any]) -> str:
    path = transcript_of(given)
    if path and not _is_kept(path):
        from ..storage.backups import keep_snapshot

        keep_snapshot(path)
    return ""


def _is_kept(path: str) -> bool:
    """Check if a snapshot equals the file. Repeats the names of `storage.backups`, which takes long to import."""
    folder, name = os.path.split(os.path.realpath(path))
    with os.scandir(folder) as entries:
        snapshots = [
            entry.path
            for entry in entries
            if entry.name.startswith(f"{name}.") and entry.name.endswith(".condense-snapshot")
        ]
    return any(filecmp.cmp(snapshot, path, shallow=False) for snapshot in snapshots)


_SMALLEST_END: Final = 256 * 1024
_LARGEST_END: Final = 16 * 1024 * 1024
"""Bytes read from the end of a file: the smaller number first, more only if the last answer is not there."""

_USES: Final = (b'"usage"', b'"compact_boundary"', b'"token_count"', b'"compacted"')
_MESSAGES: Final = (b'"user"', b'"assistant"')
"""Marks of the records to look for; other records are not parsed."""

_ANSWER_WAITS: Final = 15
_ANSWER_SECONDS: Final = 0.02


class Use:
    """Tokens in use after the last answer, its model, and the window if the file names it (else 0)."""

    def __init__(self, tokens: int, model: str, window: int) -> None:
        self.tokens, self.model, self.window = tokens, model, window


def use_of(client: str, path: str) -> Use | None:
    """Read the use from the end of a session file. None before the first answer, also the first after a compaction.
    Raises OSError."""
    read = _use_in_claude_code if client == "claude-code" else _use_in_codex
    size = os.path.getsize(path)
    take = _SMALLEST_END
    while True:
        for record in _records_from_end(path, size, take, _USES):
            found = read(record)
            if found is not None:
                return found if found.tokens else None
        if take >= min(size, _LARGEST_END):
            return None
        take *= 8


def wait_for_answer(path: str) -> None:
    """Wait a moment until the newest message in a Claude Code file is an answer.

    Claude Code 2.1.330 reports the end of a turn just before, or after, it writes the last answer.
    """
    for _ in range(_ANSWER_WAITS):
        records = _records_from_end(path, os.path.getsize(path), _SMALLEST_END, _MESSAGES)
        kinds = (record.get("type") for record in records if not record.get("isSidechain"))
        if next((kind for kind in kinds if kind in ("user", "assistant")), "assistant") == "assistant":
            return
        time.sleep(_ANSWER_SECONDS)


def _records_from_end(path: str, size: int, take: int, marks: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    """Yield records that contain one of the marks, last one first."""
    with open(path, "rb") as file:
        file.seek(max(0, size - take))
        lines = file.read(take).splitlines()
    for line in reversed(lines if take >= size else lines[1:]):
        if any(mark in line for mark in marks):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):  # The client is writing it.
                continue
            if isinstance(record, dict):
                yield record


_NOTHING: Final = Use(0, "", 0)


def _use_in_claude_code(record: dict[str, Any]) -> Use | None:
    if record.get("subtype") == "compact_boundary":
        return _NOTHING
    message = _object(record, "message")
    model, usage = message.get("model"), message.get("usage")
    is_answer = record.get("type") == "assistant" and not record.get("isSidechain") and model != "<synthetic>"
    if not is_answer or not isinstance(usage, dict):
        return None
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return Use(sum(_number(usage.get(key)) for key in keys), str(model), 0)


def _use_in_codex(record: dict[str, Any]) -> Use | None:
    if record.get("type") == "compacted":
        return _NOTHING
    payload = _object(record, "payload")
    if record.get("type") != "event_msg" or payload.get("type") != "token_count":
        return None
    info = _object(payload, "info")
    last = _object(info, "last_token_usage")
    tokens = _number(last.get("input_tokens")) + _number(last.get("output_tokens"))
    return Use(tokens, "", _number(info.get("model_context_window"))) if tokens else None


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


_COMPACTION_WAITS: Final = 10
_COMPACTION_SECONDS: Final = 0.1
"""Codex writes its compaction at about the time when it reports it; Claude Code writes it far later."""
_COMPACTED: Final = b'"type":"compacted"'
_SAID: Final = b'"type":"response_item"'
_END: Final = 4_000_000
"""Bytes at the end of a file in which the compaction is looked for."""


def give_recap(client: str, given: dict[str, Any]) -> str:
    """Recap the session after a compaction. If the client has written its compaction, recap only what that lost."""
    path = transcript_of(given)
    if given.get("source") != "compact" or not path:
        return ""
    session, size = session_of(given), os.path.getsize(path)
    if notes_of(client, session).get("recapped") == size:
        return ""  # Two installations of this hook.
    if client == "codex":
        _wait_for_compaction(path)
    from .hook_work import recap_of

    text = recap_of(path)
    remember(client, session, recapped=size)
    return context("SessionStart", text)


def _wait_for_compaction(path: str) -> None:
    """Wait up to a second until a compaction is the newest record in the file."""
    for _ in range(_COMPACTION_WAITS):
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _END))
            _, found, since = file.read().rpartition(_COMPACTED)
        if found and _SAID not in since:
            return
        time.sleep(_COMPACTION_SECONDS)


def measure(client: str, given: dict[str, Any]) -> str:
    """Measure what condensing would free, and remember it for the status line. Answers nothing."""
    path = transcript_of(given)
    use = use_of(client, path) if path else None
    if use is not None:
        with contextlib.suppress(AttributeError, OSError):  # Nobody waits for this process.
            os.nice(10)
        measure_freed(client, session_of(given), path, use.tokens)
    return ""


def measure_freed(client: str, session: str, path: str, tokens: int) -> int:
    """Return the tokens that preset `balanced` would free. Raises CondenseError."""
    from .hook_work import tokens_freed

    # Noted first, so that a second event does not start the same work.
    remember(client, session, measured=tokens)
    freed = tokens_freed(path)
    remember(client, session, measured=tokens, frees=freed)
    return freed


THRESHOLDS: Final = (60, 75, 90)
"""Percent of the window, unless CONDENSE_HINTS names others; off: none."""

_AGAIN: Final = 15
"""A threshold counts anew once use fell this many percent below it: the session was compacted or condensed."""

_SMALLEST: Final = 200_000
"""Smallest window of the models that these clients run; no window is looked up below its first threshold."""

_WINDOWS: Final = "windows"
"""Pseudo-session whose notes hold the windows of models."""

_MEASURED_FROM: Final = 30
_STEP: Final = 10
"""Percent of the window at which to measure first, and how many more until the next measurement."""


def warn_when_full(client: str, given: dict[str, Any]) -> str:
    """Warn the user once per threshold. Below it, measure in the background what condensing would free."""
    session, path = session_of(given), transcript_of(given)
    if path and client == "claude-code":
        wait_for_answer(path)
    use = use_of(client, path) if path else None
    if use is None:
        return ""
    notes = notes_of(client, session)
    window = _window(client, use, notes)
    if not window:
        return ""
    percent = 100 * use.tokens / window
    before = [said for said in notes.get("said", ()) if isinstance(said, int)]
    said = [threshold for threshold in before if percent > threshold - _AGAIN]
    crossed = [threshold for threshold in _thresholds() if percent >= threshold and threshold not in said]
    turns = notes.get("turns")  # Since the last word.
    turns = turns + 1 if isinstance(turns, int) else None
    if crossed and turns is not None and turns < _setting("CONDENSE_HINTS_TURNS"):
        crossed = []  # At a later turn.
    values: Notes = {"window": window, "tokens": use.tokens, "turns": 0 if crossed else turns}
    if crossed:
        values["said"] = [*said, *crossed]
    elif said != before:
        values["said"] = said
    remember(client, session, **values)
    if not crossed:
        if percent >= _MEASURED_FROM and percent >= 100 * _last_measured(notes) / window + _STEP:
            _measure_beside(client, session, path)
        return ""

    freed, money = 0, ""
    with contextlib.suppress(Exception):  # The warning is useful without the numbers.
        freed = measure_freed(client, session, path, use.tokens)
        from .hook_work import new_session_in_dollars

        money = new_session_in_dollars(use.model, use.tokens, freed)
    if freed < _setting("CONDENSE_HINTS_LEAST"):
        return ""
    return message(_sentence(percent, use.tokens, window, freed, session) + money)


def _thresholds() -> list[int]:
    """Return the percentages at which to say a word; the usual ones if the variable holds no number."""
    given = os.environ.get("CONDENSE_HINTS", "").strip().lower()
    if given in ("off", "0"):
        return []
    found = [int(word) for word in re.findall(r"\d+", given)]
    return sorted(each for each in found if 0 < each <= 100) or list(THRESHOLDS)


def _setting(name: str) -> int:
    """Return a number from a variable, as 5000 or 5k; 0 if there is none."""
    from ..core.wording import count_in  # Only where there is something to say.

    return count_in(os.environ.get(name, "")) or 0


def _window(client: str, use: Use, notes: Notes) -> int:
    """Return the window by the file, by what the client told its status line, or by lists; 0 if unknown."""
    known = notes.get("window")
    if use.window or (isinstance(known, int) and known >= use.tokens):
        return use.window or int(known or 0)
    if 100 * use.tokens < min([*_thresholds(), _MEASURED_FROM]) * _SMALLEST:
        return 0
    listed = notes_of(client, _WINDOWS).get(use.model)
    if not isinstance(listed, int) or listed < use.tokens:
        from ..window.decision import listed_window  # Much less than all work of hooks.

        listed = listed_window(use.model, use.tokens)
        remember(client, _WINDOWS, **{use.model: listed})
    return listed


def _last_measured(notes: Notes) -> int:
    tokens = notes.get("measured")
    # After a compaction there is less than was measured.
    return tokens if isinstance(tokens, int) and tokens <= notes.get("tokens", tokens) else 0


def _measure_beside(client: str, session: str, path: str) -> None:
    """Measure in a process of its own that the client does not wait for."""
    import subprocess

    given = json.dumps({"session_id": session, "transcript_path": path}).encode()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "condense_cli", "hook", client, "measure"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()


def _sentence(percent: float, tokens: int, window: int, freed: int, session: str) -> str:
    words = f"condense: {percent:.0f}% of the context window is in use ({tokens:,} of {window:,} tokens)."
    if freed > 0:
        words += (
            f" Condensing would free about {freed:,}: exit, then condense run --session {session[:8]} --new-session"
        )
    return words


_SEPARATOR: Final = " · "
_LEAST: Final = 1_000
"""Tokens worth mentioning."""
_MOST_SHOWN: Final = 1e9
"""Larger numbers of tokens, percent or seconds are taken for mistakes and ignored."""


def status_line(client: str, given: dict[str, Any]) -> str:
    return _SEPARATOR.join(_parts(client, given))


def _parts(client: str, given: dict[str, Any]) -> Iterator[str]:
    window = _object(given, "context_window")
    size, used = _positive(window, "context_window_size"), _positive(window, "total_input_tokens")
    if size:
        percent = window.get("used_percentage")
        share = percent if isinstance(percent, int | float) and 0 <= percent < _MOST_SHOWN else 100 * used / size
        yield f"{share:.0f}% of {_short(size)}"
    cache = _object(given, "prompt_cache")
    if isinstance(cache.get("warm"), bool):
        yield f"cache warm{_left(cache)}" if cache["warm"] else "cache cold"
    session = session_of(given)
    if not session:
        return
    notes = notes_of(client, session)
    if size and notes.get("window") != size:
        with contextlib.suppress(OSError):  # The line is useful without it.
            remember(client, session, window=size)
    frees, measured = notes.get("frees"), notes.get("measured")
    # A measurement from before a compaction is outdated.
    if isinstance(frees, int) and frees >= _LEAST and isinstance(measured, int) and (not used or used >= measured // 2):
        yield f"condensing frees {_short(frees)}"


def _left(cache: dict[str, Any]) -> str:
    ends = cache.get("expires_at")
    if isinstance(ends, str):
        from datetime import datetime

        try:
            ends = datetime.fromisoformat(ends).timestamp()
        except ValueError:
            return ""
    if not isinstance(ends, int | float):
        return ""
    seconds = (ends / 1_000 if ends > 1e11 else ends) - time.time()
    if not 0 < seconds < _MOST_SHOWN:
        return ""
    return f" {seconds / 60:.0f} min" if seconds >= 60 else f" {seconds:.0f} s"


def _object(given: dict[str, Any], key: str) -> dict[str, Any]:
    found = given.get(key)
    return found if isinstance(found, dict) else {}


def _positive(given: dict[str, Any], key: str) -> int:
    found = given.get(key)
    return int(found) if isinstance(found, int | float) and 0 < found < _MOST_SHOWN else 0


def _short(tokens: int) -> str:
    return f"{tokens / 1_000_000:g}M" if tokens % 100_000 == 0 and tokens >= 1_000_000 else f"{tokens / 1_000:.0f}k"


def condense_now(client: str, given: dict[str, Any]) -> str:
    """Answer a command of the user's: write a smaller copy of the session. Nothing of it reaches the model.

    The words behind the command may name a preset.
    """
    path = transcript_of(given)
    if given.get("command_name") != "condense":
        return ""
    from .hook_work import condensed_copy

    words = str(given.get("command_args") or "").split()
    said = condensed_copy(path, words) if path else "There is no session file yet."
    hidden = {"hookEventName": "UserPromptExpansion", "suppressOriginalPrompt": True}
    return json.dumps({"decision": "block", "reason": said, "hookSpecificOutput": hidden})


def plugin_event(name: str) -> Callable[[str, dict[str, Any]], str]:
    """Return a function that answers the plugin of a client."""

    def answer(client: str, given: dict[str, Any]) -> str:
        from .hook_work import PLUGIN_EVENTS

        return PLUGIN_EVENTS[name](client, given)

    return answer


EVENTS: Final[dict[str, Callable[[str, dict[str, Any]], str]]] = {
    "session-start": give_recap,
    "pre-compact": keep_session,
    "stop": warn_when_full,
    "status-line": status_line,
    "measure": measure,
    "compact": plugin_event("compact"),
    "copy": plugin_event("copy"),
    "condense": condense_now,
}
"""Functions by event. Each takes the client's name and the event's values, and returns the answer."""
