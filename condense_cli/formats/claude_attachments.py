"""What an attachment of a Claude Code session tells the model, by the table of `claude_kinds`.

It is counted and told, and no pass changes it: the words are the client's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from .. import jsontext
from ..transcript import Block, BlockKind, Place
from . import estimates
from .claude_kinds import NEVER, OVERHEAD, SENT, Sent

_HOOKS_HEARD: Final = ("SessionStart", "UserPromptSubmit", "UserPromptExpansion")
"""Events whose hooks may say something to the model when they succeed."""


def is_known(kind: str) -> bool:
    return kind in SENT or kind in NEVER or kind in OVERHEAD


def blocks(value: Mapping[str, Any], record: int) -> Iterator[Block]:
    """The attachment of a record as the client sends it: one block, or none."""
    attachment = value.get("attachment")
    if not isinstance(attachment, dict):
        return
    kind = str(attachment.get("type"))
    texts, estimate = list(_rendered(value.get("rendered"))), 0
    if not texts:
        row = SENT.get(kind)
        if row is None or (kind == "hook_success" and not _is_heard(attachment)):
            return
        told = list(_told(attachment, row))
        texts = [text for text in told if isinstance(text, str)]
        images = sum(tokens for tokens in told if isinstance(tokens, int))
        if not (told or row.always):
            return
        estimate = images + row.words
    place = Place(record, ("attachment",))
    content = "\n".join(texts)
    yield Block(
        BlockKind.OPAQUE,
        place,
        place.path,
        content=content,
        estimate=estimate,
        injected=True,
        api_type=kind,
        is_readable=bool(content),
    )


def _rendered(rendered: Any) -> Iterator[str]:
    """The words that newer clients write down as they send them: a list of contents, of one or several texts."""
    for said in rendered if isinstance(rendered, list) else ():
        content = said.get("content") if isinstance(said, dict) else None
        if isinstance(content, str):
            yield content
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]


def _is_heard(attachment: Mapping[str, Any]) -> bool:
    return attachment.get("hookEvent") in _HOOKS_HEARD and bool(attachment.get("content"))


def _told(attachment: Mapping[str, Any], row: Sent) -> Iterator[str | int]:
    """The texts under the keys of a row, and for each image the tokens that it is taken to cost."""
    for key in row.keys:
        value: Any = attachment
        for step in key.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        yield from _texts(value)


def _texts(value: Any) -> Iterator[str | int]:
    if isinstance(value, str):
        yield from (value,) if value else ()
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        if value.get("type") == "image":
            yield estimates.image(_data(value))
            return
        for key, item in value.items():
            if key == "content" and isinstance(item, str) and "filePath" in value:
                yield _numbered(item, value.get("startLine"))
            elif key not in ("type", "base64", "data"):
                yield from _texts(item)


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


def prompt(attachments: Iterable[Mapping[str, Any]]) -> str:
    """System prompt and tools as they were recorded last; nothing where no snapshot holds the tools too.

    Each tool is the definition that is sent (`schema`). Definitions that the model asked for later are recorded apart.
    """
    system: list[Any] = []
    tools: dict[str, Any] = {}
    for attachment in attachments:
        if attachment.get("type") == "prompt_snapshot" and isinstance(attachment.get("tools"), list):
            system = [attachment.get("cliPrefix"), *_listed(attachment, "systemPrompt")]
            tools = _by_name(attachment, "tools")
        elif attachment.get("type") == "deferred_tools_record":
            tools |= _by_name(attachment, "entries")
    if not system:
        return ""
    texts = [text for text in system if isinstance(text, str)]
    return "\n".join([*texts, *(jsontext.dump_compact(tool) for tool in tools.values())])


def _listed(attachment: Mapping[str, Any], key: str) -> list[Any]:
    value = attachment.get(key)
    return value if isinstance(value, list) else []


def _by_name(attachment: Mapping[str, Any], key: str) -> dict[str, Any]:
    tools = [tool for tool in _listed(attachment, key) if isinstance(tool, dict)]
    return {str(tool.get("name")): tool.get("schema") or tool for tool in tools}
