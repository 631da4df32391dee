"""Logs of Inspect AI: an object whose `samples` hold one conversation each, or one such sample alone.

Messages are those of chat completions, with the name and the arguments of a call as they are: {"id", "function":
NAME, "arguments": OBJECT}. The rest of a sample repeats them: `events`, `output`, `input`, and `attachments`, which
holds long texts by their hash. Log files that end in `.eval` are archives of such samples and only read.

https://inspect.aisi.org.uk/eval-logs.html
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core.markers import content_hash
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Container, Family, Role
from ..errors import UnknownFormatError
from .engine import client_text, repeats
from .engine.base import Evidence, Format, message_role, unknown_block
from .engine.client_text import is_injected
from .engine.container import LARGEST_UNPACKED, Document, as_lazy, open_document, with_beside, with_records_at
from .engine.turns import Turn, joined
from .openai.chat import ROLES, flat_call

ARCHIVE: Final = "inspect-eval"

_BESIDE: Final = ("input", "output", "events", "attachments", "transcript", "store", "scores")
_SOURCES: Final = ("input", "generate")


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if isinstance(value.get("eval"), dict) and "version" in value and isinstance(value.get("samples"), list):
        return Evidence.YES
    if str(value.get("role")) not in ROLES:
        return Evidence.NO
    calls = value.get("tool_calls")
    if isinstance(calls, list) and calls:
        is_own = isinstance(calls[0], dict) and isinstance(calls[0].get("function"), str) and "arguments" in calls[0]
        return Evidence.YES if is_own else Evidence.NO
    return Evidence.YES if value.get("source") in _SOURCES and "id" in value else Evidence.MAYBE


def claims(document: Document) -> bool:
    """Whether the document is a sample."""
    is_object = document.source.container is Container.OBJECT
    return is_object and {"epoch", "input", "target"} <= document.envelope.keys()


def read(document: Document, values: Iterator[Any]) -> Transcript:
    model = None
    if document.source.container is Container.OBJECT:
        document = with_beside(document, [(key,) for key in _BESIDE if key in document.envelope])
        records = list(values)
    else:
        records = list(values)
        log = records[0] if len(records) == 1 else None
        if isinstance(log, dict) and "samples" in log and evidence(log) is Evidence.YES:
            model = log["eval"].get("model")
            document = _of_sample(document, log["samples"])
            records = list(document.values)
    tools: dict[str, str] = {}
    turns = []
    for record, value in enumerate(records):
        if record in document.source.unparsed:
            continue
        role = message_role(record, value, ROLES)
        blocks = list(as_lazy(_blocks(value, record, role, tools), document.source))
        if isinstance(value.get("model"), str):
            model = value["model"]
        turns.append(Turn(role, blocks))
    return Transcript(
        "inspect", Family.OPENAI_CHAT, joined(turns), document.source, model=model if isinstance(model, str) else None
    )


def _of_sample(document: Document, samples: list[Any]) -> Document:
    """The one sample of a log."""
    if len(samples) != 1:
        raise UnknownFormatError(
            f"It holds {len(samples)} conversations, one per sample.",
            "Extract one: jq '.samples[0]' FILE > sample.json",
        )
    sample = samples[0]
    if not isinstance(sample, dict) or not isinstance(sample.get("messages"), list):
        raise UnknownFormatError("Its sample has no messages.", "Name a log of a finished run.")
    path = ("samples", 0)
    return with_records_at(document, 0, (*path, "messages"), [(*path, key) for key in _BESIDE if key in sample])


def read_archive(data: bytes, name: str) -> Transcript:
    """The one sample in a log file that is an archive. Raises UnknownFormatError."""
    import io
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            samples = [one for one in archive.namelist() if one.startswith("samples/") and one.endswith(".json")]
            if len(samples) != 1:
                raise _not_one(name, samples)
            if archive.getinfo(samples[0]).file_size > LARGEST_UNPACKED:  # Of what says less, no more is read.
                raise UnknownFormatError(
                    f"{name} unpacks to more than {LARGEST_UNPACKED:,} bytes.", "Unpack it, and name a part of it."
                )
            sample = archive.read(samples[0])
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise UnknownFormatError(
            f"{name} is an archive that cannot be read ({error}).", "Unpack it, and name a file that it holds."
        ) from None
    inside = f"{name} ({samples[0]})"
    document = open_document(sample, inside)
    if not claims(document):
        raise UnknownFormatError(f"{inside} is not an Inspect sample.", "Unpack it, and name a file that it holds.")
    return replace(read(document, document.values), format=ARCHIVE)


def _no_archive(document: Document, values: Iterator[Any]) -> Transcript:
    raise UnknownFormatError("this is not a ZIP archive, as .eval files are.", "JSON logs have the format inspect.")


def _not_one(name: str, samples: list[str]) -> UnknownFormatError:
    if not samples:
        return UnknownFormatError(
            f"{name} is a ZIP archive without Inspect samples.", "Unpack it, and name a file that it holds."
        )
    return UnknownFormatError(
        f"{name} holds {len(samples)} conversations, one per sample.",
        f"Extract one: unzip -p FILE {shlex.quote(samples[0])} > sample.json",
    )


def _blocks(value: dict[str, Any], record: int, role: Role, tools: dict[str, str]) -> Iterator[Block]:
    common: dict[str, Any] = {}
    if role is Role.TOOL:
        call_id = value.get("tool_call_id")
        call_id = call_id if isinstance(call_id, str) else None
        name = value.get("function")
        tool = tools.get(call_id or "") or (name if isinstance(name, str) else None)
        common = {"call_id": call_id, "tool": tool, "is_error": isinstance(value.get("error"), dict)}
    content = value.get("content")
    if isinstance(content, list) and content:
        for number, part in enumerate(content):
            yield _part(part, record, ("content", number), role, common)
    elif isinstance(content, str) or role is Role.TOOL:
        yield _text(content if isinstance(content, str) else "", record, ("content",), ("content",), role, common)
    calls = value.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        yield flat_call(call, record, ("tool_calls", number), "function", tools)


def _part(part: Any, record: int, path: JsonPath, role: Role, common: dict[str, Any]) -> Block:
    owner = ("content",) if role is Role.TOOL else path
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return _text(part["text"], record, (*path, "text"), owner, role, common)
    if kind == "reasoning" and isinstance(part.get("reasoning"), str):
        return Block(BlockKind.THINKING, Place(record, (*path, "reasoning")), path, content=part["reasoning"])
    image = part.get("image") if kind == "image" else None
    if isinstance(image, str):
        digest = content_hash(image.partition(",")[2] if image.startswith("data:") else image)
        estimate = client_text.image(image if image.startswith("data:") else None)
        return Block(BlockKind.IMAGE, Place(record, path), owner, estimate=estimate, digest=digest, **common)
    return unknown_block(part, record, path, owner, **common)


def _text(text: str, record: int, path: JsonPath, owner: JsonPath, role: Role, common: dict[str, Any]) -> Block:
    kind = BlockKind.TOOL_RESULT if role is Role.TOOL else BlockKind.TEXT
    injected = role is Role.USER and is_injected(text)
    return Block(kind, Place(record, path), owner, content=text, injected=injected, **common)


FORMAT = Format(
    "inspect",
    Family.OPENAI_CHAT,
    "Inspect AI: a log (.json) of one sample, or a sample alone",
    evidence,
    read,
    claims=claims,
    complete=repeats.completing(repeats.values_beside),
    display=repeats.displaying(repeats.values_beside),
)
ARCHIVES = Format(
    ARCHIVE,
    Family.OPENAI_CHAT,
    "Inspect AI: a log (.eval) of one sample, read-only",
    lambda _: Evidence.NO,
    _no_archive,
    is_writable=False,
)
