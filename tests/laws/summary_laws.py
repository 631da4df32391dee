"""What stays of a file into which a client writes its summaries: where it hides messages, or branches off."""

from __future__ import annotations

from condense_cli.core import json_text
from condense_cli.core.transcript import Source
from condense_cli.passes.condensation import Condensation


def hidden_stays(result: Condensation, after: Source) -> None:
    """What a summary stands for is still there, and says so; beside it stand the new records alone."""
    before = result.before.source
    changed = {block.place.record for _, block in result.transcript.blocks() if block.changed and not block.is_inserted}
    new = [message.blocks[0].text for message in result.transcript.messages if message.is_inserted]
    raws = [after.raw(record) for record in range(len(after.spans))]
    old = [raw for raw in raws if json_text.parse(raw)["content"] not in new]
    assert len(old) == len(before.spans)
    assert len(raws) == len(old) + len(new)
    for record, raw in enumerate(old):
        assert raw == before.raw(record) or record in changed or b'"condenseParent"' in raw


def branch_stays(result: Condensation, after: Source) -> None:
    """What a summary stands for is still there, off the path; what stays on it changes its parent at most."""
    before = result.before.source
    changed = {block.place.record for _, block in result.transcript.blocks() if block.changed}
    changed |= {block.place.record for block in result.transcript.removed}
    values = {value["id"]: value for value in map(json_text.parse, map(after.raw, range(len(after.spans))))}
    old = [json_text.parse(before.raw(record)) for record in range(len(before.spans))]
    for record, value in enumerate(old):
        links = {key: value[key] for key in ("parentId", "firstKeptEntryId") if key in value}
        assert record in changed or values[value["id"]] | links == value
    added = values.keys() - {value["id"] for value in old}
    assert {values[id]["type"] for id in added} <= {"branch_summary", "compaction"}
    assert len(added) == sum(message.is_inserted for message in result.transcript.messages)
