"""Every file that is known is read as what it is, or refused with a message that says why and what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import real
from hypothesis import given
from hypothesis import strategies as st

from condense_cli.errors import TranscriptError
from condense_cli.formats import FORMATS, parse
from condense_cli.formats.engine.base import Evidence, claims_nothing
from condense_cli.formats.engine.container import open_document
from condense_cli.formats.table import TABLE, FormatRow, keys_of

SEVERAL = "several|conversations"
EXPECTED: dict[str, str] = {
    "claude-code/*": "claude-code",
    "claude-stream-json/*": "claude-stream-json",
    "cline/*": "cline",
    "codex/*": "codex",
    "derived/anthropic-*": "anthropic",
    "derived/openai-messages-django-*": "openai-chat",
    "derived/openai-messages-rows-*": f"!{SEVERAL}",
    "inspect/*_browser.json": "inspect",
    "inspect/inspect-log_images_tc.json": "inspect",
    "inspect/*_popularity.json": "!holds 3 conversations.*jq",
    "inspect/*_security-guide.json": "!holds 3 conversations.*jq",
    "inspect/*.eval": "!holds 100 conversations.*unzip -p",
    "kimi/*": "kimi",
    "langsmith/*": f"!{SEVERAL}",
    "mini-swe-agent/*": "mini-swe-agent",
    "openai-finetune/*": f"!{SEVERAL}",
    "openai-proxy-log/*": "request-log",
    "opencode-events/*": "opencode-events",
    "openhands/*": "!several runs, one per line.*sed -n 1p",
    "openhands-completions/*": "openai-chat",
    "openhands-events/*": "openhands-sdk",
    "roo-code/*api_conversation_history.json": "roo",
    "roo-code/*ui_messages.json": "!not what the model gets.*api_conversation_history.json",
    "roo-logs/*": "!without the tool results.*api_conversation_history.json",
    "sharegpt/*.json": "!several conversations.*jq",
    "sharegpt/*.jsonl": f"!{SEVERAL}.*sed -n 1p",
    "swe-agent/*": "swe-agent",
    "tau-bench/tau-gpt-4o-*": "!tau-bench.*jq",
    "tau-bench/tau2-*": "!several conversations.*jq",
}
"""The format of the files that fit a pattern, or after "!" what the refusal says, hint included."""

SAMPLES = {
    "bugfix-chat": "openai-chat",
    "bugfix-cline": "cline",
    "bugfix-gemini.json": "gemini",
    "bugfix-gemini.jsonl": "gemini-log",
    "bugfix-inspect": "inspect",
    "bugfix-kimi": "kimi",
    "bugfix-messages": "anthropic",
    "bugfix-opencode": "opencode",
    "bugfix-opencode-events": "opencode-events",
    "bugfix-openhands": "openhands",
    "bugfix-openhands-events": "openhands-sdk",
    "bugfix-pi": "pi",
    "bugfix-requests": "request-log",
    "bugfix-responses": "openai-responses",
    "bugfix-rollout": "codex",
    "bugfix-session": "claude-code",
    "bugfix-sharegpt": "sharegpt",
    "bugfix-stream": "claude-stream-json",
    "bugfix-tau2": "tau2",
    "bugfix.traj": "swe-agent",
    "bugfix.traj.json": "mini-swe-agent",
}


def expectation(path: Path) -> str:
    place = f"{path.parent.name}/{path.name}"
    (found,) = {said for pattern, said in EXPECTED.items() if Path(place).match(pattern)}
    return found


@pytest.mark.parametrize("path", real.every_file(), ids=lambda path: path.name[-50:])
def test_real_files(path: Path) -> None:
    expected = expectation(path)
    if expected.startswith("!"):
        with pytest.raises(TranscriptError) as refusal:
            parse(path.read_bytes(), name=path.name)
        said = f"{refusal.value.message} {refusal.value.hint}"
        assert re.search(expected[1:], said), said
        assert path.name in refusal.value.message
    else:
        assert parse(path.read_bytes(), name=path.name).format == expected


@pytest.mark.parametrize("path", [*real.SAMPLES, *real.ONLY_READ], ids=lambda path: path.name)
def test_samples(path: Path) -> None:
    assert parse(path.read_bytes()).format == (SAMPLES.get(path.name) or SAMPLES[path.stem])


# Whatever order the formats are asked in: no other one claims the file, or has proof in a record before its own has.
@pytest.mark.parametrize("path", real.readable_files(), ids=lambda path: path.name[-50:])
def test_no_format_takes_files_of_another(path: Path) -> None:
    own = real.transcript(path).format
    document = open_document(path.read_bytes(), path.name)
    claiming = {form.name for form in FORMATS if form.claims(document)}
    assert claiming <= {own}
    if claiming:
        return
    candidates = list(FORMATS)
    for value in document.values:
        verdicts = {form.name: form.evidence(value) for form in candidates}
        candidates = [form for form in candidates if verdicts[form.name] is not Evidence.NO]
        proven = [form.name for form in candidates if verdicts[form.name] is Evidence.YES]
        if proven:
            assert proven[0] == own
            assert len(proven) == 1 or (own, *proven[1:]) in SHARED
            return


# A format is asked of a record only where its proof may be in it: what it would have said of the others is known.
@pytest.mark.parametrize("path", real.readable_files(), ids=lambda path: path.name[-50:])
def test_no_record_proves_a_format_without_the_keys_of_its_proof(path: Path) -> None:
    for value in open_document(path.read_bytes(), path.name).values:
        keys = keys_of(value)
        unasked = [row for row in TABLE if not row.may_be_proved(keys)]
        assert not [row.name for row in unasked if row.format.evidence(value) is Evidence.YES]


KEYS = sorted({key.removeprefix("content.") for row in TABLE for key in row.proof})
VALUES = st.sampled_from(
    [
        "user",
        "assistant",
        "system",
        "gpt",
        "request",
        "metadata",
        "session",
        "message",
        "event",
        "run",
        "finish",
        "text",
    ]
)
PARTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(KEYS), VALUES | st.just({"event": {"properties": {}}}), max_size=4
)
RECORDS = st.dictionaries(
    st.sampled_from([*KEYS, "content", "id", "uuid", "parentUuid", "messages", "args", "sessionId", "$set"]),
    VALUES | st.integers() | PARTS | st.lists(PARTS, max_size=2),
)


@given(RECORDS | st.lists(VALUES | PARTS))
def test_no_made_up_record_does_either(value: Any) -> None:
    keys = keys_of(value)
    unasked = [row for row in TABLE if not row.may_be_proved(keys)]
    assert not [row.name for row in unasked if row.format.evidence(value) is Evidence.YES]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_the_table_says_of_a_format_what_it_says_of_itself(row: FormatRow) -> None:
    assert row.format.name == row.name
    assert row.may_claim == (row.format.claims is not claims_nothing)


SHARED = {("cline", "roo"), ("roo", "anthropic"), ("tau2", "openai-chat")}
"""Formats whose records prove the next one as well: their messages are messages of that API, and more."""
