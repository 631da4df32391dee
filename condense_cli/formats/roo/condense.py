"""Summaries in a history of Roo Code: each a message of its own, behind the messages that it hides.

The client keeps what it summarized: each of these messages names in `condenseParent` the `condenseId` of the
summary, and is sent again when the summary goes.
"""

from __future__ import annotations

import json
from bisect import bisect
from collections.abc import Iterable, Iterator

from ...core import json_text
from ...core.transcript import Message, Source
from ...core.values import Container
from ..engine.base import Rewrite, derived_uuid
from ..engine.writing import join, new_record


def write(rewrite: Rewrite) -> bytes:
    source = rewrite.transcript.source
    summaries = list(_summaries(rewrite.transcript.messages))
    ids = [derived_uuid(*(message.blocks[0].text for message in new)) for new in summaries]
    firsts = [new[0].blocks[0].place.record for new in summaries]
    hidden = {block.place.record for new in summaries for message in new for block in message.blocks} | rewrite.gone
    replaced = {record: rewrite.record(record) for record, edits in rewrite.edits.items() if edits}
    for record in hidden:
        replaced[record] = _hidden(rewrite, record, ids[max(0, bisect(firsts, record) - 1)])
    for new, first, condense_id in zip(summaries, firsts, ids, strict=True):
        place = _last_of_run(first, hidden)
        between = _between(source, place)
        replaced[place] = between.join([replaced[place], *_records(rewrite, new, place, condense_id)])
    return join(source, replaced, lambda record: json_text.encode(replaced[record]), frozenset())


def _summaries(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Each new summary, with the line behind it where there is one."""
    new: list[Message] = []
    for message in messages:
        if message.is_inserted and not any(block.leads_on for block in message.blocks):
            if new:
                yield new
            new = [message]
        elif message.is_inserted:
            new.append(message)
    if new:
        yield new


def _hidden(rewrite: Rewrite, record: int, condense_id: str) -> str:
    """The record as it was, hidden behind the summary."""
    text = json_text.decode(rewrite.transcript.source.raw(record))
    literal = json.dumps(condense_id)
    value = json_text.parse_text(text)
    if "condenseParent" in value:
        return json_text.splice(text, {("condenseParent",): literal})
    return json_text.with_member(text, "condenseParent", literal)


def _last_of_run(record: int, hidden: set[int]) -> int:
    while record + 1 in hidden:
        record += 1
    return record


def _between(source: Source, record: int) -> str:
    """What stands between two records: a comma or a line break, and white space."""
    if source.container is Container.LINES:
        return "\n"
    if record == 0:
        return ","
    return json_text.decode(source.data[source.spans[record - 1][1] : source.spans[record][0]])


def _records(rewrite: Rewrite, new: list[Message], place: int, condense_id: str) -> Iterator[str]:
    """The summary and, where roles have to alternate, the line behind it; both at the time of the last hidden one."""
    last = json_text.parse(rewrite.transcript.source.raw(place))
    for number, message in enumerate(new):
        block = message.blocks[0]
        members = {
            "role": json.dumps(message.role.value),
            "content": rewrite.style.literal(block.text),
            "ts": json.dumps(last.get("ts", 0)),
        }
        if number == 0:
            members |= {"isSummary": "true", "condenseId": json.dumps(condense_id)}
        yield new_record(rewrite.transcript.source, block.place, members)
