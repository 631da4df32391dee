"""Work of hooks that needs most of the program; `hooks.py` imports it once there is something to do.

Plugins of clients send the messages, and get the text of a compaction, or a smaller session.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from .. import api
from ..config.preset_folders import DEFAULT_PRESET
from ..core.wording import count_in
from ..errors import CondenseError
from ..ledger.compaction import compaction, compaction_budget
from ..ledger.recap import ENOUGH, TOKENS, ends_in_compaction, recap
from ..money.economics import Rates
from ..money.prices import context_window, price_of
from ..tokens.counting import Counter
from ..tokens.factor import factor_of, typical_of
from .choices import CONDENSED, Client

_LONGEST_ANSWER: Final = 9_500
"""Characters of an answer. Claude Code 2.1.330 puts more than 10,000 into a file and shows the model its beginning."""
_ROUNDS: Final = 4


def recap_of(path: str) -> str:
    """Recap a session, or what its last compaction lost, in an answer that the client shows whole."""
    transcript = api.load(path, lenient=True)
    lost = ends_in_compaction(transcript)
    tokens = TOKENS
    for _ in range(_ROUNDS):
        text = recap(transcript, tokens, lost=lost).recap.text
        length = len(text.encode("utf-16-le")) // 2  # As JavaScript counts.
        if length <= _LONGEST_ANSWER:
            return text
        tokens = max(ENOUGH, int(tokens * 0.95 * _LONGEST_ANSWER / length))
    return ""


def tokens_freed(path: str) -> int:
    """Return the tokens that preset `balanced` would free. Raises CondenseError."""
    transcript = api.load(path, lenient=True)
    count = Counter.of(transcript)
    factor = factor_of(transcript, count)
    result = api.condense(transcript, counter=count, factor=factor, proves=False)
    return factor.shown(result.tokens_before) - factor.shown(result.tokens_after)


def compact(client: str, given: Mapping[str, Any]) -> str:
    """Return the text of a compaction of a session, as its client stores it.

    `given` holds opencode's `info` and `messages`, or pi's `entries`; the user's `instructions`, and the `window` and
    name of the `model`, where the client knows them. Raises CondenseError.
    """
    if client == Client.PI:
        data = b"".join(json.dumps(entry).encode() + b"\n" for entry in given["entries"])
    else:
        data = json.dumps({"info": given["info"], "messages": given["messages"]}).encode()
    transcript = api.loads(data, format=client, lenient=True)
    count = Counter.of(transcript)
    model, window = given.get("model") or transcript.model, given.get("window")
    factor = typical_of(model)
    total = sum(map(count.message, transcript.messages))
    tokens = count_in(os.environ.get("CONDENSE_COMPACT_TOKENS", "").strip())
    window = window if isinstance(window, int) and window > 0 else context_window(model)
    budget = compaction_budget(total, factor, tokens, window)
    return compaction(transcript.messages, budget, count, str(given.get("instructions") or "")).text


_NEW: Final = 8
"""Last characters of an id that are made anew. Those before them have the time, by which opencode sorts."""


def copy(client: str, given: Mapping[str, Any]) -> str:
    """Return a smaller copy of a session of opencode, with ids of its own, and how much smaller it is; or `why` none.

    `given` holds `info` and `messages`, and the name of a `preset`, if any.
    """
    data = json.dumps({"info": given["info"], "messages": given["messages"]}).encode()
    try:
        result = api.condense(
            api.loads(data, format=client, lenient=True), preset=given.get("preset") or DEFAULT_PRESET
        )
    except CondenseError as error:
        return json.dumps({"why": error.told})
    if not result.changes:
        return json.dumps({"why": "Nothing in this session would get smaller, so no copy was written."})
    small = api.dump(result)
    said = f"{result.shown_before:,} → {result.shown_after:,} tokens. This session stays as it is."
    return json.dumps({"session": _renewed(json.loads(small)), "said": f"condense wrote a smaller copy: {said}"})


def _renewed(session: dict[str, Any]) -> dict[str, Any]:
    """Return the session under other ids, derived from its own and its content, and with a title that says so."""
    key = sha256(json.dumps(session).encode()).digest()
    ids = {session["info"]["id"]}
    for message in session["messages"]:
        ids |= {message["info"]["id"], *(part["id"] for part in message["parts"] if "id" in part)}
    new = {old: old[:-_NEW] + sha256(key + old.encode()).hexdigest()[:_NEW] for old in ids}

    def renewed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: renewed(each) for name, each in value.items()}
        if isinstance(value, list):
            return [*map(renewed, value)]
        return new.get(value, value) if isinstance(value, str) else value

    found: dict[str, Any] = renewed(session)
    info = {name: value for name, value in found["info"].items() if name not in ("share", "revert")}
    title = str(info.get("title") or "Session")
    info["title"] = title if title.endswith(CONDENSED) else f"{title} {CONDENSED}"
    return {**found, "info": info}


PLUGIN_EVENTS: Final = {"compact": compact, "copy": copy}


_RUN_SECONDS: Final = 55
"""Less than the client waits for the hook."""


def condensed_copy(path: str, words: Sequence[str]) -> str:
    """Write a smaller copy of a session file, with the preset that the words name, and say how to go on in it."""
    preset = [word for word in words if not word.startswith("-")][:1]
    command = [sys.executable, "-P", "-m", "condense_cli", "run", path, "--new-session", "--json"]
    try:
        ran = subprocess.run(
            [*command, *(["--preset", *preset] if preset else [])],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_RUN_SECONDS, cwd=os.path.dirname(path),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        name = os.path.basename(path)[:8]
        return f"This session is large; in a shell: condense run --session {name} --new-session --resume"
    report = json.loads(ran.stdout) if ran.stdout else {}
    new = report.get("new_session")
    if not new:
        why = ran.stderr.decode("utf-8", "replace").strip()
        return f"condense wrote no new session. {why or 'Nothing in this one would get smaller.'}"
    tokens = report["tokens"]
    return (
        f"condense wrote a smaller copy of this session: {tokens['before']:,} → {tokens['after']:,} tokens. This one "
        f"stays as it is.\nGo on in the copy: /resume, and choose the title that ends in (condensed); or in a shell: "
        f"{' '.join(new['command'])}"
    )


_LEAST: Final = 1_000
"""Tokens whose price is worth a word."""


def new_session_in_dollars(model: str, tokens: int, freed: int) -> str:
    """Say what a session with so many tokens less costs once, for its cache, and saves; nothing without a price."""
    price = price_of(model, datetime.now(UTC), tokens)
    rates = Rates.of(price) if price else None
    if rates is None or rates.write is None or freed < _LEAST:
        return ""
    once, each = rates.write * (tokens - freed), rates.read * freed
    return f"; about ${once:.2f} once, for its cache, and ${each:.3f} less with each request"
