"""The laws that every run keeps, as checks on one run. Generated and real transcripts go through the same ones."""

import re
from typing import Any
from zlib import crc32

from build import compiled
from msgspec.structs import replace
from real import IS_THOROUGH
from references import is_escaped, named_lines_stay, plain_line
from summary_laws import branch_stays, hidden_stays, order_is_kept, others_stay
from sums import references_are_those_of_restore, savings_add_up
from words_law import users_words_go_last

from condense_cli import api
from condense_cli.config.models import Configuration
from condense_cli.core import json_text
from condense_cli.core.markers import gaps_in, may_be_marked, parse_gap
from condense_cli.core.transcript import Block, Place, Transcript
from condense_cli.core.values import BlockKind
from condense_cli.formats import detected_format, format_named, parse, serialize
from condense_cli.lossless.decode import decode
from condense_cli.lossless.references import parse_reference
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.decisions import REFER
from condense_cli.passes.prelude import NEWEST
from condense_cli.passes.receipts import PRELUDE, REPLACING, THINKING, Kept, Status
from condense_cli.passes.selection import protect
from condense_cli.passes.summaries import Summarizer
from condense_cli.rules import validity
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.models import binds_thinking
from condense_cli.toolcalls.tools import arguments_of, string_values

APPENDING = ("claude-code", "codex")
"""Formats whose clients write a summary behind everything else, which stays as it is."""

COPYING = (
    "gemini-log",
    "kimi",
    "copilot",
    "langchain",
    "qwen-code",
    "openhands",
    "openhands-sdk",
    "mini-swe-agent",
    "tau2",
)
"""Formats whose records repeat what other records say: a copy goes when the text itself was cut."""

ESCAPES = re.compile(rb"(\[condense: |\[see )(?:\\\\)+")
"""What text that imitates our marks gets where it is written, as JSON spells it."""

IF_NEW = "Records that repeat what others say: COPYING has the format. Links that lead to records: RELINKED_KEYS."
"""What a new format may need here."""

RELINKED_KEYS = {
    "claude-code": (b'"parentUuid"', b'"leafUuid"', b'"sourceToolAssistantUUID"', b'"logicalParentUuid"'),
    "codex": (b'"id"',),
    "atif": (b'"step_id"',),
    "qwen-code": (b'"parentUuid"',),
    "copilot": (b'"parentId"',),
    "droid": (b'"parentId"',),
    "openai-responses": (b'"id"',),
    "pi": (b'"parentId"', b'"firstKeptEntryIndex"'),
    "opencode": (b'"parentID"', b'"tail_start_id"'),
}
"""Keys that lead to records which may have gone before."""


def check_all(
    transcript: Transcript,
    configuration: Configuration,
    count: Counter | None = None,
    summarizer: Summarizer | None = None,
) -> Condensation:
    """Run a configuration and check every law on the result."""
    count = count or Counter()
    result = api.condense(transcript, configuration, counter=count, summarizer=summarizer)
    assert result.error is None, result.error.traceback
    data = api.dump(result)
    untouched_is_untouched(result, data)
    links_stay_whole(result, data)
    references_are_those_of_restore(result, data, count)
    check_content(result, configuration, count)
    is_known_again(result, data)
    if IS_THOROUGH or crc32(data) % 3 == 0:  # One of three, and the same ones each time.
        deterministic(transcript, configuration, data, summarizer)
    if not any(receipt.kept is Kept.NO_SUMMARY for receipt in result.receipts):
        idempotent(result, configuration, data, summarizer)
    return result


def check_content(result: Condensation, configuration: Configuration, count: Counter) -> None:
    """The laws that need no written file."""
    configuration = compiled(configuration)
    valid_in_valid_out(result)
    never_larger(result, count)
    lossless(result)
    savings_add_up(result, count)
    protected_stays(result, configuration, count)
    users_words_go_last(result, configuration, count)
    receipts_add_up(result, count)
    order_is_kept(result)


def is_known_again(result: Condensation, data: bytes) -> None:
    """The output is recognized as what the input was; texts alone are messages of more than one API."""
    form = format_named(result.before.format)
    only_texts = form.is_default and not any(block.call_id for _, block in result.transcript.blocks())
    if not only_texts and detected_format(result.before.source.data) == form.name:
        assert detected_format(data) == form.name


def untouched_is_untouched(result: Condensation, data: bytes) -> None:
    """Law 1: a record that nothing changed comes out byte for byte; at most its links move."""
    before = result.before.source
    form = format_named(result.transcript.format)
    if form.is_log and (result.transcript.has_new_summary or result.transcript.removed):
        assert data.startswith(before.data)  # What is left is said at the end.
        return
    after = parse(data, format=result.transcript.format, lenient=bool(before.unparsed)).source
    if result.transcript.has_new_summary:
        if result.transcript.format in APPENDING:
            assert data.startswith(before.data)
            return
        if result.transcript.format == "roo":
            hidden_stays(result, after)
            return
        if result.transcript.format == "pi" and b'"parentId"' in before.data:
            branch_stays(result, after)
            return
        if result.transcript.format == "ai-sdk-ui":
            others_stay(result, after)
            return
    changed = {block.place.record for _, block in result.transcript.blocks() if block.changed}
    emptied = {block.place.record for block in result.transcript.removed}
    gone = emptied - {block.place.record for _, block in result.transcript.blocks()}
    gone = set(form.going(result.transcript, frozenset(gone)))
    kept = [record for record in range(len(before.spans)) if record not in gone]
    assert len(kept) == len(after.spans)
    said = {block.text for _, block in result.transcript.blocks() if block.changed}
    for position, record in enumerate(kept):
        if record in changed | emptied:
            continue
        old, new = before.raw(record), after.raw(position)
        relinked = RELINKED_KEYS.get(result.before.format, ())
        copies = result.before.format in COPYING or record >= before.listed or b'"tool_call"' in old
        if old != new and copies:
            shown, shows = (_without_links(json_text.parse(raw), relinked) for raw in (old, new))
            _copies_went(shown, shows, said)
            continue
        old, new = (ESCAPES.sub(rb"\1", raw) for raw in (old, new))
        assert old == new or ((gone or emptied) and any(key in old for key in relinked)), IF_NEW
    if not (changed or emptied):
        assert data == before.data


def _without_links(value: Any, relinked: tuple[bytes, ...]) -> Any:
    """A record without its links to others; where a format has none, it may be any value."""
    if not relinked:
        return value
    return {key: inner for key, inner in value.items() if f'"{key}"'.encode() not in relinked}


def _copies_went(old: Any, new: Any, said: set[str]) -> None:
    """What repeats the conversation keeps its shape, and all texts that have no marker and are not `said` now."""
    if isinstance(old, str) and new in said:
        return
    if isinstance(old, str) and old != new:
        gaps = set(gaps_in(new)) - set(gaps_in(old))
        kept = [line for line in new.split("\n") if not any(str(gap) in line for gap in gaps)]
        assert gaps or may_be_marked(new)
        assert all(line in old for line in kept if not may_be_marked(line))
    elif isinstance(old, dict):
        assert list(old) == list(new)
        for key in old:
            _copies_went(old[key], new[key], said)
    elif isinstance(old, list):
        assert len(old) == len(new)
        for one, other in zip(old, new, strict=True):
            _copies_went(one, other, said)
    else:
        assert old == new or (old != old and new != new)


def valid_in_valid_out(result: Condensation) -> None:
    """Law 2: no rule is broken that the input kept."""
    broken = {violation.rule for violation in validity.validate(result.transcript)}
    allowed = {violation.rule for violation in validity.validate(result.before)}
    assert not broken - allowed
    assert not result.new_violations
    blocks = [block for _, block in result.transcript.blocks()]
    assert all(block.text.strip() for block in blocks if block.changed)
    assert all(message.blocks for message in result.transcript.messages if message not in result.before.messages)


def links_stay_whole(result: Condensation, data: bytes) -> None:
    """Law 2 for the client: a link that leads nowhere, in the live conversation or beside it, did so before."""
    again = parse(data, format=result.transcript.format, lenient=bool(result.before.source.unparsed))
    assert _file_faults(again) <= _file_faults(result.before)


def _file_faults(transcript: Transcript) -> set[tuple[str, str]]:
    """Rule and target of each; without the numbers of records, which move when a record before them goes."""
    rules = format_named(transcript.format).rules
    faults = [fault for rule in rules for fault in rule(transcript)]
    return {(fault.rule, fault.said.partition(" share the uuid ")[2] or fault.said) for fault in faults}


def never_larger(result: Condensation, count: Counter) -> None:
    """Law 3: no block grows, and no transcript does. What stays of a changed block stood in it before."""
    before = {_where(block): block for _, block in result.before.blocks()}
    originals = {
        _where(block): block for message in decode(result.before.messages).messages for block in message.blocks
    }
    for _, block in result.transcript.blocks():
        if block.is_inserted:
            continue
        old = before[_where(block)]
        # A reference whose lines went from the block that held them becomes those lines again.
        is_smaller = count.block(block) < count.block(old) or originals[_where(block)] != old
        with_escapes = block.changed and is_escaped(originals[_where(block)], block)
        assert is_smaller or with_escapes if block.changed else block == old
        if block.changed and not with_escapes:
            whole = "\n".join(_texts(originals[_where(block)]))
            kept = [
                line
                for text in _texts(block)
                for line in text.split("\n")
                if not parse_gap(line) and not parse_reference(line)
            ]
            is_summary = any(gap.is_summary for text in _texts(block) for gap in gaps_in(text))
            assert is_summary or all(plain_line(line).strip("…") in whole or line in whole for line in kept)
    assert result.tokens_after <= result.tokens_before
    assert bool(result.changes) == (result.tokens_after < result.tokens_before)


def _where(block: Block) -> tuple[Place, tuple[int, int] | None]:
    return block.place, block.span


def _texts(block: Block) -> list[str]:
    if block.kind is not BlockKind.TOOL_CALL:
        return [block.text]
    return [value for _, value in string_values(arguments_of(block))]


def lossless(result: Condensation) -> None:
    """Law 6: what references say is what stood there, and a run with no lossy pass changes nothing else.

    None dangles, whatever passes cut: what does not resolve in the output did not in the input.
    """
    before, after = decode(result.before.messages), decode(result.transcript.messages)
    assert after.unresolved <= before.unresolved
    named_lines_stay(after.messages, result.transcript.messages)
    lossy = {
        (receipt.message, receipt.block)
        for receipt in result.changes
        if receipt.operation not in (REFER, "drop", "remove", "merge")
    }
    originals = {
        _where(block): block
        for message in before.messages
        for number, block in enumerate(message.blocks)
        if (message.index, number) not in lossy
    }
    for message in after.messages:
        for block in message.blocks:
            if _where(block) in originals:
                assert _texts(block) == _texts(originals[_where(block)])


def restored(transcript: Transcript) -> list[list[str]]:
    """What every block says without references."""
    return [_texts(block) for message in decode(transcript.messages).messages for block in message.blocks]


def idempotent(result: Condensation, configuration: Configuration, data: bytes, summarizer: Summarizer | None) -> None:
    """Law 4: the same configuration changes nothing in its own output."""
    in_passes = compiled(configuration)
    if in_passes.target_reduction_percent is not None:
        return  # A percentage of what is left is a new target.
    if len(result.transcript.messages) < len(result.before.messages) and _names_indices(in_passes):
        return  # An index names another message once a message before it went.
    again = parse(data, format=result.transcript.format, lenient=bool(result.before.source.unparsed))
    again = replace(again, model=result.transcript.model)
    second = api.condense(again, configuration, counter=Counter(), summarizer=summarizer)
    assert second.changes == []
    assert api.dump(second) == data


def _names_indices(configuration: Configuration) -> bool:
    found = (each.individual_config.overrides for each in configuration.passes if each.individual_config)
    return any(found) or any(each.range for each in (*configuration.pins, *(c.selection for c in configuration.passes)))


def protected_stays(result: Condensation, configuration: Configuration, count: Counter) -> None:
    """Law 5: what is protected comes out as it went in, except thinking that a change made invalid."""
    after = {_where(block): block for _, block in result.transcript.blocks()}
    messages = result.before.messages
    windows = [
        receipt.preserved_turns or 0
        for receipt in result.passes
        if receipt.status in (Status.COMPLETED, Status.FAILED) and receipt.id != "thinking"
    ]
    recent = len(messages) - min(windows, default=len(messages))
    plain = decode(messages).messages
    protection = protect(configuration, plain, count, result.before.model)
    written = {_where(block): block for message in plain for block in message.blocks}
    meant = {
        _where(block): block for message in decode(result.transcript.messages).messages for block in message.blocks
    }
    may_refer = configuration.lossless_prelude.enabled or plain != messages
    for position, message in enumerate(messages):
        for block in message.blocks:
            if block.kind is BlockKind.THINKING:
                continue
            why = protection.of(message, block)
            if (why and why not in (Kept.BEFORE_REQUEST, Kept.SUMMARY)) or (position >= recent and not may_refer):
                # A reference in it becomes the lines again that it named, where those were cut.
                had_reference = written[_where(block)] != block
                assert after[_where(block)] == block or had_reference
                assert _texts(meant[_where(block)]) == _texts(written[_where(block)])
    if result.transcript.has_new_summary or binds_thinking(result.before.model):
        return
    gone = [block for block in result.transcript.removed if not block.is_listing]
    removed = {_where(block) for block in gone}
    if configuration.thinking == "keep" or {receipt.id for receipt in result.passes} <= {PRELUDE, THINKING}:
        assert not removed
    elif configuration.thinking == "auto":
        turns = [message for message in messages if not message.is_only_thinking]
        newest = {_where(block) for message in turns[-NEWEST:] for block in message.blocks}
        assert all(block.kind is BlockKind.THINKING for block in gone)
        assert newest.isdisjoint(removed)


def deterministic(
    transcript: Transcript, configuration: Configuration, data: bytes, summarizer: Summarizer | None
) -> None:
    """Law 8: the same input and configuration give the same bytes."""
    again = api.condense(transcript, configuration, counter=Counter(), summarizer=summarizer)
    assert serialize(again.transcript) == data


def receipts_add_up(result: Condensation, count: Counter) -> None:
    """Law 9: the changes add up to the difference, and the totals are the sums of the blocks."""
    assert result.tokens_before == count.transcript(result.before)
    assert result.tokens_after == count.transcript(result.transcript)
    saved = sum(receipt.tokens_before - receipt.tokens_after for receipt in result.changes)
    assert saved == result.tokens_before - result.tokens_after
    changed = {_where(block) for _, block in result.transcript.blocks() if block.changed and not block.is_inserted}
    places = {
        (message.index, number): block
        for message in result.before.messages
        for number, block in enumerate(message.blocks)
    }
    receipted: set[tuple[Place, tuple[int, int] | None]] = set()
    summarized: set[tuple[int, int]] = set()
    for receipt in result.changes:
        # Others are of the message as a whole, or of the summary that stands there since.
        if receipt.block >= 0 and (receipt.message, receipt.block) not in summarized:
            block = places[receipt.message, receipt.block]
            assert receipt.tool == block.tool
            assert block.kind in (receipt.kind, BlockKind.IMAGE)  # Where an image was, there may be text.
            receipted.add(_where(block))
            if receipt.operation in REPLACING and receipt.tokens_after == 0:
                summarized.add((receipt.message, receipt.block))
    assert changed <= receipted
