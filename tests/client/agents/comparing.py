"""What a client sends and what our reader takes for the conversation, piece by piece, whichever API it is sent to."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from condense_cli.core.markers import parse_summary
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.formats import parse

from ..loopback import Json
from . import gemini_api
from .pieces import Piece


def of_transcript(transcript: Transcript) -> list[Piece]:
    """The texts of one result are one piece. Thinking and system prompts are left out."""
    pieces: list[Piece] = []
    last = ""
    for message, block in transcript.blocks():
        if block.kind is BlockKind.THINKING or message.role is Role.SYSTEM:
            continue
        who = "result" if block.answers else "assistant" if message.role is Role.ASSISTANT else "user"
        if block.kind is BlockKind.TOOL_CALL:
            pieces.append(Piece("call", str(block.tool), json.dumps(json.loads(block.text or "{}"), sort_keys=True)))
        elif block.answers and last == block.answers:
            pieces[-1] = pieces[-1]._replace(text=f"{pieces[-1].text}\n{block.text.strip()}")
        else:
            pieces.append(Piece(who, "", block.text.strip()))
        last = block.answers or ""
    return [piece for piece in pieces if piece.text]


def of_request(body: Json) -> list[Piece]:
    """The same of a request to any of the three APIs."""
    if "contents" in body:
        return list(gemini_api.pieces(body))
    format = "openai-chat" if body["messages"][0]["role"] == "system" else "anthropic"
    return of_transcript(parse(json.dumps({"messages": body["messages"]}).encode(), format=format))


def _plain(text: str) -> str:
    """A result without the JSON that Cline puts around it: a list of what each part of the call came to."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    parts = value if isinstance(value, list) else [value]
    texts = (part.get(key) for part in parts if isinstance(part, dict) for key in ("result", "error"))
    said = [text for text in texts if isinstance(text, str)]
    return "\n".join(part.strip() for part in said) if said else text


def _with_results_in_order(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """A file may hold the results of several calls in the order in which they came; Gemini CLI sends each twice."""
    for is_result, group in groupby(pieces, key=lambda piece: piece.who == "result"):
        stretch = list(group)
        yield from sorted({*stretch}) if is_result else stretch


def differences(transcript: Transcript, body: Json, adds: tuple[str, ...], around: str) -> Iterator[str]:
    """Where a request differs from what the transcript says, but for texts that begin as `adds`.

    Nor does it count what matches the pattern `around` in either.
    """
    ours, theirs = (
        list(_with_results_in_order(piece._replace(text=_plain(re.sub(around, "", piece.text))) for piece in pieces))
        for pieces in (of_transcript(transcript), of_request(body))
    )
    position = 0
    for piece in theirs:
        expected = ours[position] if position < len(ours) else None
        if piece == expected or (expected and _is_told_summary(expected, piece)):
            position += 1
        elif piece.who != "user" or not piece.text.startswith(adds):
            yield f"piece {position}: the transcript says {_shown(expected)}, the client {_shown(piece)}"
            return
    yield from (f"not sent: {_shown(piece)}" for piece in ours[position:])


def _is_told_summary(ours: Piece, theirs: Piece) -> bool:
    """Whether a client says around a summary that it is one."""
    return ours.who == theirs.who == "user" and parse_summary(ours.text) is not None and ours.text in theirs.text


def _shown(piece: Piece | None) -> str:
    return (
        "nothing" if piece is None else f"{piece.who} {piece.tool} {piece.text[:80]!r} ... {piece.text[80:][-400:]!r}"
    )
