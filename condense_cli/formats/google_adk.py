"""Sessions of Google's Agent Development Kit: an object whose events hold contents of Google's API.

    {"id", "app_name", "user_id", "state", "events": [{"author", "content": {"role", "parts"}, "actions", ...}, ...]}

The web interface and the API server write the keys in camel case. https://google.github.io/adk-docs/events/
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ..core import json_text
from ..core.transcript import Transcript
from ..core.values import Family, Role
from ..errors import UnknownFormatError
from .engine.base import Evidence, Format
from .engine.container import Document, as_lazy, first_of, with_records_at
from .engine.turns import PartsReader, Turn, joined

_LIST: Final = "events"
_APP: Final = ("app_name", "appName")


def evidence(value: Any) -> Evidence:
    is_session = isinstance(value, dict) and isinstance(value.get(_LIST), list) and any(key in value for key in _APP)
    return Evidence.YES if is_session else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    if len(records) > 1:
        hint = first_of(document, "session.json")
        raise UnknownFormatError("It holds several sessions, one per record.", hint)
    if evidence(records[0]) is Evidence.NO:
        raise UnknownFormatError("It has no events and no app_name.", "Name an ADK session.")
    document = with_records_at(document, 0, (_LIST,))
    reader = PartsReader()
    turns: list[Turn] = []
    for record, event in enumerate(document.values):
        content = event.get("content") if isinstance(event, dict) else None
        is_model = isinstance(content, dict) and content.get("role") == "model"
        for role, blocks in reader.turns(content, record, ("content",), is_model=is_model):
            turns.append(Turn(role, list(as_lazy(blocks, document.source))))
    return Transcript("google-adk", Family.OPENAI_CHAT, joined(turns), document.source)


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    old = json_text.parse_text(replaced)
    kept = {key: json.dumps(old[key]) for key in ("id", "timestamp", "invocation_id", "invocationId") if key in old}
    return {**kept, "author": '"user"', "content": f'{{"role": "user", "parts": [{{"text": {literal}}}]}}'}


FORMAT = Format(
    "google-adk",
    Family.OPENAI_CHAT,
    "Google ADK session (an object with app_name and events)",
    evidence,
    read,
    new_message=new_message,
    summary_role=Role.USER,
)
