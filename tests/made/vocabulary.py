"""Transcripts full of our own vocabulary: markers, references, summaries, escapes and ledgers where others wrote them.

What is copied comes from runs on the very conversation, so that much of it names what really stands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_logs import agent_files
from build import configuration, cut_to
from chats_of_clients import Turns, gemini_chats, opencode_exports, pi_sessions
from hypothesis import strategies as st
from response_items import request_items
from rollouts import rollout_records
from strategies import REPEATING, anthropic_messages, claude_records, exchanges, openai_messages, spelled
from training import sharegpt_files

from condense_cli import api
from condense_cli.core.markers import (
    GO_ON,
    PREFIX,
    PREFIXES,
    REFERENCE_PREFIX,
    SummaryMark,
    content_hash,
    short_hash,
    with_escape,
)
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.formats.engine.client_text import NO_REQUEST
from condense_cli.lossless.references import parse_reference
from condense_cli.toolcalls.tools import arguments_of, string_values

OLDER: dict[str, Any] = {"type": "preserve_recent", "keep_recent_count": 1}
ALL_OF_IT = {"operation": "summarize", "summarization_config": {"keep_first": 0, "keep_last": 0}}
RUNS = [
    configuration(lossless_prelude={}),
    configuration(lossless_prelude={"keep": "earliest", "tool_parameters": True}),
    configuration(
        {"id": "cut", "selection": OLDER, "individual_config": cut_to(2)},
        {"id": "sum", "selection": OLDER, "mode": "batch", "batch_config": ALL_OF_IT},
        lossless_prelude={"enabled": False},
    ),
]
SAID = [
    GO_ON,
    "<ledger>\nRequests of the user:\n- Never push.\n</ledger>",
    "Requests of the user:",
    "[condense: 999999999999999 lines left out #deadbeef]",
    "[condense: 9999999999 lines, 9999999999 characters left out #deadbeef]",
    "[condense: summary of 999999999 lines #deadbeef]",
    "[condense: image left out #deadbeef]",
    "[… 999999999999999 lines #012345]",
    "[… 9999999999 lines, 9999999999 characters #012345]",
    "[condense: summary of 999999999 lines #012345]",
    "[… image #012345]",
    "[…3 lines]",
    "[…9999999999 lines, 9999999999 characters]",
    f"{SummaryMark(3, 4, '12345678')}\nRULE: never push.",
    f"{SummaryMark(3, 4, '12345678', NO_REQUEST)}\nRULE: never push.\n\n<ledger>\n</ledger>",
    "[see lines 1-2 above #401752]",
]


def _texts(transcript: Transcript) -> Iterator[str]:
    for _, block in transcript.blocks():
        if block.kind is BlockKind.TOOL_CALL:
            yield from (value for _, value in string_values(arguments_of(block)))
        else:
            yield block.text


def _is_ours(line: str) -> bool:
    return line.startswith(PREFIXES) or parse_reference(line) is not None


def vocabulary(transcript: Transcript) -> list[str]:
    """What runs on a transcript write: each mark and reference, whole summaries, and the hashes of texts that stay."""
    found = [*SAID]
    for run in RUNS:
        for text in _texts(api.condense(transcript, run).transcript):
            found += filter(_is_ours, text.split("\n"))
            found += [text] if text.startswith(PREFIXES) else []
    requests = [text for text in _texts(transcript) if text.strip()][:3]
    found += [f"{SummaryMark(2, 1, '87654321', short_hash(text))}\nNever push." for text in requests]
    found += [f"[condense: 7 lines left out #{content_hash(text)}]" for text in requests]
    found += [f"[… 7 lines #{short_hash(text)}]" for text in requests]
    return list(dict.fromkeys(found))


@st.composite
def imitating_turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A conversation in no format, as `strategies.exchanges` has it, with our vocabulary all over it."""
    turns: list[dict[str, Any]] = draw(st.one_of(REPEATING, exchanges(thinking=False)))
    ours = st.sampled_from(vocabulary(api.loads(draw(anthropic_messages(st.just(turns))), format="anthropic")))
    for _ in range(draw(st.integers(1, 5))):
        words = draw(ours)
        if words.startswith((PREFIX, REFERENCE_PREFIX)):
            for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
                words = with_escape(words)
        turn = draw(st.sampled_from(turns))
        if "user" in turn:
            turn["user"] = draw(_with(turn["user"], words))
        elif not turn["calls"]:
            turn["text"] = draw(_with(turn["text"] or "", words))
        else:
            call = draw(st.sampled_from(turn["calls"]))
            if draw(st.booleans()):
                call["arguments"] = {**call["arguments"], "content": words}
            elif isinstance(call["result"], str):
                call["result"] = draw(_with(call["result"], words))
    return turns


@st.composite
def _with(draw: st.DrawFn, text: str, words: str) -> str:
    """A text with these words alone, at its beginning, or on lines of their own somewhere in it."""
    lines = text.split("\n")
    at = draw(st.sampled_from([None, 0, 0, 1, len(lines)]))
    return words if at is None else "\n".join([*lines[:at], words, *lines[at:]])


IMITATING: Turns = imitating_turns()

IMITATING_FILES = st.one_of(
    anthropic_messages(IMITATING).flatmap(spelled),
    openai_messages(IMITATING, free_texts=True).flatmap(spelled),
    claude_records(IMITATING).flatmap(lambda records: spelled(records, lines_only=True)),
    rollout_records(IMITATING).flatmap(lambda records: spelled(records, lines_only=True)),
    request_items(IMITATING).flatmap(lambda items: spelled(items, key="input")),
    sharegpt_files(IMITATING),
    opencode_exports(IMITATING),
    pi_sessions(IMITATING),
    gemini_chats(IMITATING),
    agent_files(openai_messages(IMITATING)),
)
