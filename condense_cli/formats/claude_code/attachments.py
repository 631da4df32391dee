"""What an attachment of a Claude Code session tells the model, by the table of `kinds`.

It is counted and told, and no pass cuts it: the words are the client's own. Where it ends with a text of its own, lines
of that which stand again elsewhere may become references.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.lazy_pattern import lazy_pattern
from ...core.transcript import Block, JsonPath, Place
from ...core.values import BlockKind
from ..engine import estimates
from ..engine.injected import is_injected
from .kinds import CUTTING, NEVER, OVERHEAD, SENT, Sent

_HOOKS_HEARD: Final = ("SessionStart", "UserPromptSubmit", "UserPromptExpansion")
"""Events whose hooks may say something to the model when they succeed."""

_WHOLE: Final[JsonPath] = ("attachment",)
_OF_CLIENT: Final = ("task-notification", "orphaned-permission")
"""Modes of what the client itself puts into the queue; a person's wait as `prompt` or `bash`."""

_TAGS: Final = lazy_pattern(r"\A<system-reminder>\n|\n</system-reminder>\Z")


def blocks(value: Mapping[str, Any], record: int) -> Iterator[Block]:
    """The attachment of a record as the client sends it: one block, or none."""
    attachment = value.get("attachment")
    if not isinstance(attachment, dict):
        return
    kind = str(attachment.get("type"))
    path: JsonPath = ()
    texts, estimate = list(_rendered(value.get("rendered"))), 0
    if not texts:
        row = SENT.get(kind)
        if row is None or (kind == "hook_success" and not _is_heard(attachment)):
            return
        told = list(_told(attachment, row))
        texts = [text for text, _ in told if isinstance(text, str)]
        path = told[-1][1] if texts else ()
        images = sum(tokens for tokens, _ in told if isinstance(tokens, int))
        if not (told or row.always):
            return
        estimate = images + row.words
    content = "\n".join(texts)
    yield Block(
        BlockKind.OPAQUE,
        Place(record, path or _WHOLE),
        _WHOLE,
        content=content,
        lead=len(content) - len(texts[-1]) if path else 0,
        estimate=estimate,
        injected=not _is_typed(attachment) or is_injected(content),
        api_type=kind,
        is_readable=bool(content),
    )


def _rendered(rendered: Any) -> Iterator[str]:
    """The words that newer clients write down as they send them: a list of contents, of one or several texts.

    When it resumes, the client makes them anew of the values.
    """
    for said in rendered if isinstance(rendered, list) else ():
        content = said.get("content") if isinstance(said, dict) else None
        if isinstance(content, str):
            yield content
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]


def _is_typed(attachment: Mapping[str, Any]) -> bool:
    """Whether it is what a person typed while the agent was at work."""
    origin = attachment.get("origin")
    by_person = not isinstance(origin, dict) or origin.get("kind") == "human"
    return attachment.get("type") == "queued_command" and attachment.get("commandMode") not in _OF_CLIENT and by_person


def _is_heard(attachment: Mapping[str, Any]) -> bool:
    return attachment.get("hookEvent") in _HOOKS_HEARD and bool(attachment.get("content"))


_Told = Iterator[tuple[str | int, JsonPath]]
"""Texts, each with its path in the record, which is empty where the text is not there as it is sent; and for each image
the tokens that it is taken to cost."""


def _told(attachment: Mapping[str, Any], row: Sent) -> _Told:
    """Yield the values under the keys of a row."""
    for key in row.keys:
        for value, path in _values(attachment, key.split("."), _WHOLE):
            yield from _texts(value, path)


def _values(value: Any, keys: Sequence[str], path: JsonPath) -> Iterator[tuple[Any, JsonPath]]:
    """The values that keys lead to, in each element of a list on their way."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _values(item, keys, (*path, number))
    elif not keys:
        yield value, path
    elif isinstance(value, Mapping):
        yield from _values(value.get(keys[0]), keys[1:], (*path, keys[0]))


def _texts(value: Any, path: JsonPath) -> _Told:
    if isinstance(value, str):
        yield from ((value, path),) if value else ()
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, (*path, number))
    elif isinstance(value, dict):
        if value.get("type") == "image":
            yield estimates.image(_data(value)), ()
            return
        for key, item in value.items():
            if key == "content" and isinstance(item, str) and "filePath" in value:
                yield _numbered(item, value.get("startLine")), ()
            elif key not in ("type", "base64", "data"):
                yield from _texts(item, (*path, key))


def _data(image: Mapping[str, Any]) -> Any:
    """The base64 of an image: as the API has it, or in a file that was read."""
    for holder, key in (("source", "data"), ("file", "base64")):
        if isinstance(image.get(holder), dict):
            return image[holder].get(key)
    return None


def _numbered(text: str, first: Any) -> str:
    """A file as the client prints it."""
    start = first if isinstance(first, int) else 1
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), start))


class Noted:
    """What the attachments of a session note, besides the texts that they send.

    `unknown` tells how many there are of each kind that is not in the table and comes without its words.
    """

    def __init__(self, unknown: Tally[str]) -> None:
        self.unknown = unknown
        self.cuts: dict[int, Mapping[str, Any]] = {}
        """Attachments of the kinds in `cut`, by their records."""
        self._overhead: dict[int, Mapping[str, Any]] = {}
        self._of_system: set[int] = set()

    def take(self, value: Mapping[str, Any], record: int, *, is_sent: bool) -> None:
        attachment = value.get("attachment")
        attachment = attachment if isinstance(attachment, dict) else {}
        kind = str(attachment.get("type"))
        if value.get("renderedRole") == "system":
            self._of_system.add(record)
        if kind in OVERHEAD:
            self._overhead[record] = attachment
        elif kind in CUTTING:
            self.cuts[record] = attachment
        elif not (is_sent or kind in SENT or kind in NEVER):
            self.unknown[f"attachment {kind}"] += 1

    def prompt(self, records: Iterable[int]) -> str:
        """System prompt and tools as these records hold them last; nothing where no snapshot holds the tools too.

        Each tool is the definition that is sent (`schema`). Definitions that the model asked for later are apart.
        """
        system: list[Any] = []
        tools: dict[str, Any] = {}
        for attachment in self._of(records):
            if _is_whole(attachment):
                system = [attachment.get("cliPrefix"), *_listed(attachment, "systemPrompt")]
                tools = _by_name(attachment, "tools")
            else:
                tools |= _by_name(attachment, "entries")
        texts = [text for text in system if isinstance(text, str)]
        return "\n".join([*texts, *(json_text.dump_compact(tool) for tool in tools.values())]) if system else ""

    def as_sent(self, records: Iterable[int], blocks: Mapping[int, tuple[Block, ...]]) -> dict[int, tuple[Block, ...]]:
        """Blocks without their tags where the client sends them as messages of the system, to newer models."""
        snapshots = [attachment for attachment in self._of(records) if _is_whole(attachment)]
        if not (snapshots and snapshots[-1].get("systemTurns") is True):
            return {}
        return {record: tuple(map(_without_tags, blocks[record])) for record in self._of_system}

    def _of(self, records: Iterable[int]) -> Iterator[Mapping[str, Any]]:
        return (self._overhead[record] for record in records if record in self._overhead)


def _is_whole(attachment: Mapping[str, Any]) -> bool:
    return attachment.get("type") == "prompt_snapshot" and isinstance(attachment.get("tools"), list)


def _without_tags(block: Block) -> Block:
    return replace(block, content=_TAGS.sub("", block.text), place=Place(block.place.record, _WHOLE), lead=0)


def _listed(attachment: Mapping[str, Any], key: str) -> list[Any]:
    value = attachment.get(key)
    return value if isinstance(value, list) else []


def _by_name(attachment: Mapping[str, Any], key: str) -> dict[str, Any]:
    tools = [tool for tool in _listed(attachment, key) if isinstance(tool, dict)]
    return {str(tool.get("name")): tool.get("schema") or tool for tool in tools}
