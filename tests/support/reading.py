"""Small conversations with references of somebody's, and what reading them gives."""

from typing import Any

from bombs import LINES
from build import anthropic, assistant, call, read_turn, result, user
from references import texts

from condense_cli.core.markers import short_hash
from condense_cli.core.transcript import Message
from condense_cli.lossless.decode import Decoded, decode

OTHER = LINES.replace("value", "worth")
THIRD = LINES.replace("value", "price")


def see(where: str, lines: str) -> str:
    return f"[see {where} #{short_hash(lines)}]"


NEXT = see("the next Read of b.py", LINES)
PREVIOUS = see("the previous Read of b.py", LINES)
B = read_turn("b", "b.py", LINES)


def read(identifier: str, content: Any) -> list[dict[str, Any]]:
    return read_turn(identifier, f"{identifier}.py", content)


def messages(*said: dict[str, Any]) -> tuple[Message, ...]:
    return anthropic(user("Look."), *said, assistant("Done.")).messages


def decoded(*said: dict[str, Any], **options: Any) -> Decoded:
    return decode(messages(*said), **options)


def saying(found: Decoded, position: int) -> list[str]:
    return [value for block in found.messages[position].blocks for value in texts(block)]


def edit(identifier: str = "e", **values: Any) -> list[dict[str, Any]]:
    return [assistant([call(identifier, "Edit", file_path="e.py", **values)]), user([result(identifier, "ok")])]
