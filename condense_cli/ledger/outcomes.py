"""How a call ended, from its flag or from the words of the known clients."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from .. import jsontext
from ..markers import parse_gap
from ..tools import has_failed
from ..transcript import Block
from .entries import ENDED, FAILED, OK

_LONGEST_ERROR: Final = 200
_EXIT_STATUS: Final = re.compile(
    r"(?:\bExit code:?|\bexit code|\bexited with code|\"exit_code\":|<returncode>) ?(-?\d{1,10})\b", re.ASCII
)
"""`Exit code 1` (Claude Code, Codex, Roo Code), `finished with exit code 1` (OpenHands), `exited with code 1` and
`"exit_code":1` (Codex), `<returncode>1` (mini-swe-agent)."""

_EDGE: Final = 300
"""Clients put the exit status at the beginning or at the end, a program's own words may stand between."""

_REFUSED: Final = re.compile(
    r"\s*(?:<tool_use_error>|ERROR:|Error:|error:|No replacement was performed|No file open|Unable to apply diff"
    r"|Your proposed edit has introduced new syntax error|Invalid `|apply_patch verification failed|Failed to )"
)
"""How clients without a flag begin when they refuse to read or to change a file."""

ERROR_LINE: Final = re.compile(
    r"(?:^|[\s\[(<])(?:[\w.]*(?:Error|Exception|Warning)\b:?|error(?:\[\w+\])?:|fatal:|FAILED\b|FAIL\b|panic:|✗|✘|×"
    r"|npm ERR!|E  +\S|undefined reference|[Nn]o such file|[Cc]ommand not found|[Pp]ermission denied"
    r"|(?:\d+ )?(?:tests? )?failed\b|not ok\b|Traceback \(most)"
)
"""A line that says that something went wrong."""

_TRACEBACK: Final = "Traceback (most recent call last)"
_RAISED: Final = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt|Warning|StopIteration)\b.*", re.ASCII)


class Results(Struct, frozen=True):
    """All parts of the result of a call. A client that `tells_failure` flags every result of a call that failed."""

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
        """Whether a call that works on a file did not do it."""
        return self.is_failed or any(_REFUSED.match(block.text) for block in self.blocks)


class Outcome(Struct, frozen=True):
    """How a command ended, and the line of its output that tells what went wrong."""

    outcome: str
    error: str = ""

    @property
    def is_failure(self) -> bool:
        return self.outcome not in (OK, ENDED)


def command_outcome(results: Results) -> Outcome:
    text = results.text
    status = _exit_status(text)
    text = _output(text)
    if status:
        return Outcome(f"exit {status}", first_error(text))
    # Without a status only a crash tells a failure from what a program merely says about errors.
    if results.is_failed or (status is None and not results.tells_failure and _TRACEBACK in text):
        return Outcome(FAILED, first_error(text))
    return Outcome(OK if status == 0 or results.tells_failure else ENDED)


def _output(text: str) -> str:
    """What the command printed, where Codex wraps it in JSON."""
    if not text.startswith('{"output":'):
        return text
    try:
        value = jsontext.parse_text(text)
    except (ValueError, RecursionError):
        return text
    output = value.get("output") if isinstance(value, dict) else None
    return output if isinstance(output, str) else text


def first_error(text: str) -> str:
    """The line that tells what went wrong: an exception's last line, the first that names an error, or the last."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if _TRACEBACK in line), None)
    if start is not None:
        raised = next((line for line in lines[start + 1 :] if _RAISED.match(line)), "")
        if raised:
            return _shortened(raised)
    told = next((line for line in lines if ERROR_LINE.search(line)), "")
    if not told:
        told = next((line for line in reversed(lines) if line.strip() and parse_gap(line) is None), "")
    return _shortened(told)


def _exit_status(text: str) -> int | None:
    found = _EXIT_STATUS.search(text[:_EDGE]) or _EXIT_STATUS.search(text[-_EDGE:])
    return int(found[1]) if found else None


def _shortened(line: str) -> str:
    line = line.strip()
    return line if len(line) <= _LONGEST_ERROR else line[:_LONGEST_ERROR] + "…"
