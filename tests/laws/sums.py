"""The sums that a reader can check, as checks on one run: savings by kind, and references as `restore` finds them."""

from msgspec.structs import replace

from condense_cli import api
from condense_cli.core.transcript import Block, BlockKey, Message, Transcript
from condense_cli.formats import parse
from condense_cli.lossless.decode import decode
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.decisions import REFER
from condense_cli.report.inspection.savings import references_after
from condense_cli.report.run.facts import savings_of
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED


def references_are_those_of_restore(result: Condensation, data: bytes, count: Counter) -> None:
    """The report counts the references that `restore` puts back in the file, and the tokens that this adds."""
    shown = references_after(replace(result, decisions=replace(result.decisions, factor=AS_COUNTED)), count)
    restored = api.restore(parse(data, format=result.transcript.format, lenient=bool(result.before.source.unparsed)))
    assert (shown.resolved, shown.unresolved) == (restored.resolved, restored.unresolved)
    assert shown.saved == count.transcript(restored.transcript) - count.transcript(result.transcript)
    if not decode(result.before.messages).counted:
        assert result.lossless_saved == shown.saved
        assert sum(result.references.values()) == shown.saved


def savings_add_up(result: Condensation, count: Counter) -> None:
    """By kind they are all that was saved; of each block references saved what `restore` puts back in it.

    As they are counted, and in the model's tokens.
    """
    saved = result.tokens_before - result.tokens_after
    shown = result.factor.shown(result.tokens_before) - result.factor.shown(result.tokens_after)
    assert sum(entry.tokens for entry in savings_of(result, shown)) == shown
    savings = savings_of(replace(result, decisions=replace(result.decisions, factor=AS_COUNTED)), saved)
    assert sum(entry.tokens for entry in savings) == saved
    assert sum(entry.tokens for entry in savings if entry.operation == REFER) == result.lossless_saved
    assert result.lossless_saved == sum(_by_references(result, count))


def _by_references(result: Condensation, count: Counter) -> list[int]:
    """What references saved on each block that is still there: on one that says everything still, all."""
    old, new = _blocks(result.before.messages), _blocks(result.transcript.messages)
    said, says = _without_references(result.before), _without_references(result.transcript)
    shares = []
    for key, block in new.items():
        if block.is_inserted:
            continue
        saved = count.block(old[key]) - count.block(block)
        more = count.block(says[key]) - count.block(block) - (count.block(said[key]) - count.block(old[key]))
        shares.append(saved if says[key].reads_as(said[key]) else max(0, min(more, saved)))
    return shares


def _blocks(messages: tuple[Message, ...]) -> dict[BlockKey, Block]:
    return {block.key: block for message in messages for block in message.blocks}


def _without_references(transcript: Transcript) -> dict[BlockKey, Block]:
    return _blocks(decode(transcript.messages).messages)
