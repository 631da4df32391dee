"""Summaries as checks on one run: where they come, and what stays of a file in which a client hides or branches off."""

from condense_cli.core import json_text
from condense_cli.core.transcript import Source
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import SUMMARIZE


def hidden_stays(result: Condensation, after: Source) -> None:
    """What a summary stands for is still there, and says so; beside it stand the new records alone."""
    before = result.before.source
    changed = {block.place.record for _, block in result.transcript.blocks() if block.changed and not block.is_inserted}
    new = [message.blocks[0].text for message in result.transcript.messages if message.is_inserted]
    raws = [after.raw(record) for record in range(len(after.spans))]
    known = {before.raw(record) for record in range(len(before.spans))}
    old = [
        raw for raw in raws if raw in known or b'"condenseParent"' in raw or json_text.parse(raw)["content"] not in new
    ]
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


def others_stay(result: Condensation, after: Source) -> None:
    """A summary divides messages; the others come out as they were, and no id comes twice."""
    before = result.before.source
    changed = {block.place.record for _, block in result.transcript.blocks() if block.changed}
    changed |= {block.place.record for block in result.transcript.removed}
    left = iter(list(map(after.raw, range(len(after.spans)))))
    assert all(before.raw(record) in left for record in range(len(before.spans)) if record not in changed)
    ids = [json_text.parse(after.raw(record))["id"] for record in range(len(after.spans))]
    assert len({*ids}) == len(ids)


def order_is_kept(result: Condensation) -> None:
    """Law 10: all that is left comes in its old order, and a summary where the messages were that it absorbed.

    A message that stays ends a summary, so nothing from before it is told behind it, or the other way round.
    """
    places = {
        block.key: (message.index, number)
        for message in result.before.messages
        for number, block in enumerate(message.blocks)
    }
    placed = [
        (places.get(block.key, (message.index, 0)), block.is_inserted)
        for message in result.transcript.messages
        for block in message.blocks
    ]
    assert [place for place, _ in placed] == sorted({place for place, _ in placed})
    borders = [(place[0], is_new) for place, is_new in placed]
    summarized = {
        receipt.message for receipt in result.changes if receipt.operation == SUMMARIZE and receipt.block >= 0
    }
    for index in summarized - {index for index, is_new in borders if not is_new}:
        before = [is_new for border, is_new in borders if border <= index]
        assert before[-1:] == [True], f"message {index} is told in front of a message that was older"
