"""Tell how calls ended, from flags or the client's words, and which claims about files no longer hold.

The file a.py has been updated successfully. (file state is current in your context — no need to Read it back)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal

from msgspec import Struct

from ..core import json_text
from ..core.lazy_pattern import lazy_pattern
from ..core.markers import gaps_in, parse_gap
from ..core.transcript import TEXT_CALL, Block, BlockKey, Message
from ..core.values import BlockKind, Role, Text, size_of
from .tools import (
    arguments_of,
    has_failed,
    path_argument,
    reads_a_file,
    replaces_a_file,
    shows_a_part,
    string_values,
    writes_a_file,
)

OK: Final = "ok"
FAILED: Final = "failed"
ENDED: Final = "ended"
DENIED: Final = "denied"
"""Outcomes of a command: success, an error without a number (`exit N` if it has one), unknown, or refused by the user.
"""

_LONGEST_ERROR: Final = 200
_EXIT_STATUS: Final = lazy_pattern(
    r"(?:\bExit code:?|\bexit code|\bexited with code|\"exit_code\":|<returncode>) ?(-?\d{1,10})\b", re.ASCII
)
"""`Exit code 1` (Claude Code, Codex, Roo Code), `finished with exit code 1` (OpenHands), `exited with code 1` and
`"exit_code":1` (Codex), `<returncode>1` (mini-swe-agent)."""

_EDGE: Final = 300
"""Clients write the exit status at the beginning or end of a text; program output may come between."""

_REFUSED: Final = lazy_pattern(
    r"\s*+(?:<tool_use_error>|ERROR:|Error:|error:|No replacement was performed|No file open|Unable to apply diff"
    r"|Your proposed edit has introduced new syntax error|Invalid `|apply_patch verification failed|Failed to "
    r"|failed to parse function arguments)"
)
"""Beginnings of results by which clients without a flag refuse to read or change a file, or reject arguments."""

_DENIED: Final = lazy_pattern(
    r"\s*+(?:<error>\s*+)?(?:The user doesn't want to "
    r"|This (?:Bash )?command (?:requires approval|contains multiple op)"
    r"|Claude requested permissions? to |Permission to use .{1,400}? has been denied"
    r"|.{1,400}? was blocked\. For security, Claude Code "
    r"|(?:exec command |patch )?rejected by user|The user denied this operation"
    r"|The user (?:rejected permission to use|has specified a rule which prevents)"
    r"|\[Operation Cancelled\] Reason: User denied )",
    re.DOTALL,
)
"""Beginnings of results for calls refused by the user or a rule of theirs: Claude Code, Codex, Roo Code and Cline,
OpenCode, Gemini CLI.
"""

_WHY_DENIED: Final = lazy_pattern(
    r"(?:the user said|reason for the rejection|following feedback):\s*(?:<feedback>\s*)?([^\n]*)"
)

ERROR_LINE: Final = lazy_pattern(
    r"(?:^|[\s\[(<])(?:[\w.]*(?:Error|Exception|Warning)\b:?|error(?:\[\w+\])?:|fatal:|FAILED\b|FAIL\b|panic:|✗|✘|×|❌"
    r"|npm ERR!|E  +\S|undefined reference|[Nn]o such file|[Cc]ommand not found|[Pp]ermission denied"
    r"|(?:\d+ )?(?:tests? )?failed\b|not ok\b|Traceback \(most)"
)
"""Matches a line that reports an error."""

_HELP: Final = lazy_pattern(
    r"\s*+(?:error: )?(?:usage:|(?:try|for|see|run) .{0,80}(?:\bhelp\b|-h\b)|\S+ (?:--help|-h)\s*$)", re.IGNORECASE
)
"""Matches a line about how to call a program, which hardly explains an error."""

_STATUS_LINE: Final = lazy_pattern(
    r"\W*+(?:command finished with |process |returncode>)?(?:exit(?:ed with)? code:? )?-?\d*(?:</returncode>)?\W*",
    re.IGNORECASE,
)
"""Matches a line with nothing but the exit status."""

_FRAME: Final = lazy_pattern(
    r"^(?:(?:Command|Chunk ID|Exit code|Wall time|Original token count|Total output lines): .*+\n"
    r"|Process exited with code .*+\n){1,8}+Output:\n",
    re.MULTILINE,
)
"""Header that Codex writes before a command's output."""

_TRACEBACK: Final = "Traceback (most recent call last)"
_RAISED: Final = lazy_pattern(
    r"(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt|Warning|StopIteration)\b.*|(?:\w+\.)+\w+: .*", re.ASCII
)


def tells_failure(role: Role, result: Block) -> bool:
    """Return whether the client that writes these results flags failed calls."""
    # Only the Messages API has a flag. Results inside a text have none.
    return role is Role.USER and not (result.answers or "").startswith(TEXT_CALL)


class Results(Struct, frozen=True):
    """All parts of a call's result. If `tells_failure`, the client flags every failed call."""

    blocks: tuple[Block, ...] = ()
    tells_failure: bool = False

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.blocks)

    @property
    def is_failed(self) -> bool:
        return any(map(has_failed, self.blocks))

    @property
    def is_refused(self) -> bool:
        """Return whether a call on a file was not carried out."""
        return self.is_failed or self.is_denied or any(_REFUSED.match(block.text) for block in self.blocks)

    @property
    def state(self) -> Literal["", "failed", "denied"]:
        """Ending of a file change that was not made; empty if it was made."""
        return "denied" if self.is_denied else "failed" if self.is_refused else ""

    @property
    def ending(self) -> Literal["", "failed", "denied"]:
        """Ending of a call that failed, by any tool; exit statuses count if the client has no flag."""
        return self.state or ("failed" if not self.tells_failure and _exit_status(self.text) else "")

    @property
    def is_denied(self) -> bool:
        """Return whether the user, or a rule of theirs, refused the call."""
        return (self.is_failed or not self.tells_failure) and any(_DENIED.match(block.text) for block in self.blocks)


def results_of(messages: Sequence[Message]) -> dict[int, Results]:
    """Map calls, by `id()`, to their results. Where call ids repeat, each is answered before the next."""
    calls: dict[str | None, Block] = {}
    parts: dict[int, list[Block]] = {}
    flagged: dict[int, bool] = {}
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL:
                calls[block.call_id] = block
            elif block.answers and block.answers in calls:
                call = id(calls[block.answers])
                parts.setdefault(call, []).append(block)
                flagged[call] = tells_failure(message.role, block)
    return {call: Results(tuple(blocks), flagged[call]) for call, blocks in parts.items()}


class Endings:
    """Callable that returns the ending of a call, given the call or any block of its results. Texts are read on demand.

    Calls that share an id all count as failed if one failed.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._known: dict[str, Literal["", "failed", "denied"]] = {}

    @cached_property
    def _results(self) -> dict[str, list[Results]]:
        found: dict[str, list[Results]] = {}
        for results in results_of(self._messages).values():
            found.setdefault(results.blocks[0].call_id or "", []).append(results)
        return found

    def __call__(self, block: Block) -> Literal["", "failed", "denied"]:
        call = block.call_id or ""
        if call not in self._known:
            endings = (results.ending for results in self._results.get(call, ()))
            self._known[call] = next(filter(None, endings), "")
        return self._known[call]


def calls_with_results(messages: Sequence[Message]) -> Iterator[tuple[Block, Results]]:
    """Yield every call in order, with the results that are there."""
    results = results_of(messages)
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL:
                yield block, results.get(id(block), Results())


class CommandOutcome(Struct, frozen=True):
    """Outcome of a command, and the line of its output that explains an error."""

    outcome: str
    error: str = ""

    @property
    def state(self) -> Literal["", "failed", "denied"]:
        """Ending of the file change that the command was to make; empty if it may have made it."""
        return "" if self.outcome in (OK, ENDED) else "denied" if self.outcome == DENIED else "failed"


def command_outcome(results: Results) -> CommandOutcome:
    text = results.text
    if results.is_denied:
        why = _WHY_DENIED.search(text)
        return CommandOutcome(DENIED, _shortened(why[1]) if why else "")
    status = _exit_status(text)
    text = _output(text)
    if status:
        return CommandOutcome(f"exit {status}", first_error(text))
    # Without a status only a crash distinguishes failure from output about errors.
    if results.is_failed or (status is None and not results.tells_failure and _TRACEBACK in text):
        return CommandOutcome(FAILED, first_error(text))
    return CommandOutcome(OK if status == 0 or results.tells_failure else ENDED)


def _output(text: str) -> str:
    """Return the command's output without Codex's header or JSON wrapper."""
    if not text.startswith('{"output":'):
        return _FRAME.sub("", text, count=1)
    try:
        value = json_text.parse_text(text)
    except (ValueError, RecursionError):
        return text
    output = value.get("output") if isinstance(value, dict) else None
    return output if isinstance(output, str) else text


def first_error(text: str) -> str:
    """Return the line that explains an error: an exception's last line, the first error line, or the last line.

    Usage lines count only if there is no other.
    """
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if _TRACEBACK in line), None)
    if start is not None:
        raised = next((line for line in lines[start + 1 :] if _RAISED.match(line)), "")
        if raised:
            return _shortened(raised)
    said = [line for line in lines if not _STATUS_LINE.fullmatch(line) and parse_gap(line) is None]
    said = [line for line in said if not _HELP.match(line)] or said
    return _shortened(next(filter(ERROR_LINE.search, said), said[-1] if said else ""))


def _exit_status(text: str) -> int | None:
    found = _EXIT_STATUS.search(text[:_EDGE]) or _EXIT_STATUS.search(text[-_EDGE:])
    return int(found[1]) if found else None


def _shortened(line: str) -> str:
    line = line.strip()
    return line if len(line) <= _LONGEST_ERROR else line[:_LONGEST_ERROR] + "…"


_CLAIM: Final = lazy_pattern(
    r" \(file state is current in your context[^()\n]{0,60}\)"
    r"| The content from the earlier \w{1,30} (?:tool_)?result in this conversation is still current[^.\n]{0,60}\."
    r"| Refer to that earlier tool_result instead\."
    r"|<i>You do not need to re-read the file, as you have seen all changes</i>\n"
)
"""Claims by Claude Code after a change, and in place of an unchanged file read again (the second form also occurs in
derived clients); by Roo Code after a change.
"""

SIGNS: Final = (
    "(file state is current in your context",
    " instead of re-reading.",
    " to that earlier tool_result instead.",
    ">You do not need to re-read the file",
)
"""Each claim contains one of these; searching for them decodes no lazy text."""

_LONGEST: Final = 4_000
"""Maximum characters of a claim: longer texts show a file, which may quote anything."""


def without_claims(text: str) -> str:
    return _CLAIM.sub("", text)


def claiming(messages: Sequence[Message]) -> frozenset[str]:
    """Return paths of files whose current state, by some result, is in the conversation."""
    return frozenset(
        path
        for call, results in calls_with_results(messages)
        if any(_claims(block.content) for block in results.blocks) and (path := path_argument(call)) is not None
    )


def outdated(messages: Sequence[Message], now: Mapping[BlockKey, Block], paths: frozenset[str]) -> list[BlockKey]:
    """Return keys of results that claim to show the state of one of `paths` whose lines were cut before or with their
    call.

    `messages` are the input's, without references; `now` has their remaining blocks.
    """
    found: list[BlockKey] = []
    is_cut: dict[str, bool] = {}
    for call, results in calls_with_results(messages):
        path = path_argument(call)
        if path is None or path not in paths or results.state:
            continue
        claims = [block for block in results.blocks if _claims(block.content)]
        reads, writes = reads_a_file(call) and not claims, writes_a_file(call)
        own = (call,) if writes else results.blocks if reads else ()
        is_whole = replaces_a_file(call) or (reads and not shows_a_part(call))
        went = any(_has_lost_lines(block, now.get(block.key)) for block in own)
        is_cut[path] = went or (not is_whole and is_cut.get(path, False))
        if is_cut[path]:
            found += [block.key for block in claims]
    return found


def _claims(content: Text) -> bool:
    return size_of(content) <= _LONGEST and any(sign in content for sign in SIGNS)


def _has_lost_lines(before: Block, now: Block | None) -> bool:
    """Return whether the block lost lines, in this run or an earlier one."""
    if now is None or not now.reads_as(before):
        return True
    texts = [value for _, value in string_values(arguments_of(before) or {})] if before.is_object else [before.text]
    return any(map(gaps_in, texts))
