"""Warnings about a run: work left undone, and faults that the input had."""

from __future__ import annotations

from collections import Counter as Reasons
from collections import defaultdict
from collections.abc import Iterator, Sized
from typing import Final

from ...core.markers import parse_summary
from ...core.values import BlockKind
from ...core.wording import plural
from ...formats import format_named
from ...lossless.decode import count_gaps, decode
from ...passes.condensation import Condensation
from ...passes.receipts import NO_TARGET, REPLACING, SWITCHED_OFF, Kept
from ...rules.validity import texts_are_unicode
from ...tokens.counting import Counter, Encoding
from ...window.use import RECORDED, in_use


def warnings_of(condensation: Condensation, *encodings: Encoding) -> list[str]:
    """Return the warnings of a run; `encodings` are the counters to warn of."""
    found = [*condensation.warnings, *_already_invalid(condensation), *_shortcomings(condensation)]
    if condensation.transcript.slimmed:
        found = [warning.replace("Nothing was changed", "Nothing in the context was changed") for warning in found]
    return [*found, *of_another(*encodings)]


def _already_invalid(condensation: Condensation) -> list[str]:
    """Say which rules the input violated already, the first violation of each kind."""
    found = []
    mended = _MENDED if format_named(condensation.before.format).is_writable else "."
    violations = condensation.old_violations or [*texts_are_unicode(condensation.before)]
    if violations:
        said = f"{violations[0].said.rstrip('.')}{_more(violations)}{mended}"
        found.append(f"The input already violates a rule of its API: {said}")
    before = condensation.before
    rules = (rule for rule in format_named(before.format).rules if not rule.is_note)
    faults = [fault for rule in rules for fault in rule(before) if not fault.is_note]
    if faults:
        first = faults[0]
        place = f"in line {before.source.line_of(first.record)}"
        said = f"{first.said.rstrip('.')}{_more(faults)}{mended}"
        found.append(f"The input already violates a rule of its client, {place}: {said}")
    return found


_MENDED: Final = ". condense repair FILE mends it, if it can."


def _more(found: Sized) -> str:
    return f" (and {len(found) - 1} more)" if len(found) > 1 else ""


def _shortcomings(condensation: Condensation) -> list[str]:
    """Say the shortcomings that programs and pipes would not see otherwise."""
    found = []
    unparsed = condensation.before.source.unparsed
    if unparsed:
        first = condensation.before.source.line_of(min(unparsed))
        several = f"{len(unparsed)} lines are not JSON and were kept as they are (the first is line {first})."
        found.append(several if len(unparsed) > 1 else f"Line {first} is not JSON and was kept as it is.")
    if condensation.is_target_missed:
        found.append(_missed(condensation))
    found += _not_told(condensation)
    refused = [*_not_summarized(condensation)]
    found += refused
    if condensation.changes or refused or not condensation.is_needed or condensation.error:
        return found
    if condensation.was_within_target:
        return [*found, within_target(condensation)]
    is_said = any(warning.startswith("Nothing was changed") for warning in condensation.warnings)
    if not is_said and _was_condensed(condensation):
        return [*found, NOTHING_MORE]
    if condensation.receipts:
        reasons = Reasons(receipt.why for receipt in condensation.receipts if receipt.kept)
        found.append(
            "Nothing was changed. Blocks kept: "
            + "; ".join(f"{reason} ({number:,})" for reason, number in reasons.most_common(3))
            + (f". {A_TARGET}" if condensation.target is None and reasons[Kept.NEEDED] else ".")
        )
    elif not is_said:
        skipped = [entry for entry in condensation.passes if entry.reason not in ("", SWITCHED_OFF)]
        # Passes for a target say nothing of a run without one, where others say more.
        skipped = [entry for entry in skipped if entry.reason != NO_TARGET] or skipped
        reasons_to_skip = dict.fromkeys(f"{entry.name}: {entry.reason}" for entry in skipped)
        found += [f"Nothing was changed. {'; '.join(reasons_to_skip)}."] if reasons_to_skip else []
    return found


def why_status(condensation: Condensation) -> list[str]:
    """List misses that the status tells of: the target, and blocks without the summary that was asked for."""
    missed = [_missed(condensation)] if condensation.is_target_missed else []
    return [*missed, *_not_summarized(condensation)]


def _not_summarized(condensation: Condensation) -> Iterator[str]:
    """List what was not summarized as asked, by the reason. Another step may have cut or dropped it all the same."""
    places = {(receipt.message, receipt.block) for receipt in condensation.changes}
    refused: defaultdict[str, dict[tuple[int, int], bool]] = defaultdict(dict)
    for receipt in condensation.receipts:
        if receipt.kept is Kept.NO_SUMMARY:
            place = receipt.message, receipt.block
            refused[receipt.why.removesuffix(".")][place] = place in places
    for why, found in sorted(refused.items(), key=lambda each: -len(each[1]))[:3]:
        blocks, changed = plural(len(found), "block"), sum(found.values())
        if changed:
            which = "it" if len(found) == 1 else f"{changed:,} of them"
            yield f"Not summarized: {blocks} ({why}); another step changed {which}."
        else:
            yield f"Not summarized, so left unchanged: {blocks} ({why})."


def _not_told(condensation: Condensation) -> list[str]:
    """Warn of images and documents in messages that a summary replaced."""
    blocks = {
        (message.index, number): block
        for message in condensation.before.messages
        for number, block in enumerate(message.blocks)
    }
    gone = {(receipt.message, receipt.block) for receipt in condensation.changes if receipt.operation in REPLACING}
    lost = [blocks[place] for place in gone & blocks.keys() if blocks[place].estimate]
    images = sum(block.kind is BlockKind.IMAGE for block in lost)
    documents = sum(block.is_document for block in lost)
    told = [plural(number, noun) for number, noun in ((images, "image"), (documents, "document")) if number]
    return [f"Summaries or notes also replaced {' and '.join(told)}; --keep preserves them."] if told else []


def within_target(condensation: Condensation) -> str:
    """Say why nothing was done, if so. A user who took the target from the client's display expected a change."""
    factor, target = condensation.factor, condensation.shown_target or 0
    before = plural(condensation.shown_before, "token is", "tokens are")
    is_less = condensation.shown_before <= target
    said = f"{before} already within the target of {target:,}{'' if is_less else ', within the accuracy of the count'}."
    used = in_use(condensation.before, Counter.of(condensation.before), factor)
    if used.source != RECORDED or used.tokens <= target:
        return said
    by_api = f"the API counts {used.tokens:,} in use, including system prompt and tools"
    return f"{said} A target covers the messages only; {by_api}."


NOTHING_MORE: Final = "Nothing was changed: the transcript is already condensed, and nothing more is worth cutting."


A_TARGET: Final = "--target-percent 50 cuts more anyway."
"""Lines that are worth their tokens go where there is a target."""


def _was_condensed(condensation: Condensation) -> bool:
    """Whether an earlier run left its marks in the input."""
    before = condensation.before
    has_summary = any(block.summarizes and parse_summary(block.text) for _, block in before.blocks())
    return has_summary or bool(count_gaps(before.messages) or decode(before.messages).resolved)


def _missed(condensation: Condensation) -> str:
    """Say how far the run is from its target, what is in the way, and what would help."""
    shown, target = condensation.factor.shown, condensation.shown_target or 0
    protected, after = shown(condensation.protected_tokens), condensation.shown_after
    said = [f"The target of {plural(target, 'token')} was not reached: this configuration gets down to {after:,}."]
    if protected:
        reason = "The target cannot be met, because" if protected > target else "Of them"
        said.append(f"{reason} {plural(protected, 'token is', 'tokens are')} protected: {_PROTECTED}.")
    if protected <= target:
        said.append("condense estimate --target-tokens N shows how far each preset gets.")
    missing = after - target
    helps = {
        "Preserving fewer turns (--keep last:N)": _recent_that_could_go(condensation),
        "Keeping less with --keep": condensation.tokens_kept(Kept.PINNED),
    }
    for how, tokens in zip(helps, map(shown, helps.values()), strict=True):
        if tokens >= missing * _WORTH_SAYING:
            said.append(f"{how} would free up to {plural(tokens, 'token')}.")
    return " ".join(said)


def _recent_that_could_go(condensation: Condensation) -> int:
    """Tokens of the preserved blocks that are long and of a kind that the run rewrote elsewhere, if it did anything."""
    rewritten = {receipt.content_type for receipt in condensation.changes}
    return sum(
        receipt.tokens_after
        for receipt in condensation.last_receipts
        if receipt.kept is Kept.RECENT
        and (receipt.content_type in rewritten or not rewritten)
        and receipt.tokens_after > _SHORT
    )


_PROTECTED: Final = (
    "the first request and what the client wrote before it, standing instructions, what --keep names, "
    "and the newest turns"
)
_SHORT: Final = 50
"""Blocks of so few tokens, hardly more than a marker has, get no smaller."""
_WORTH_SAYING: Final = 0.1
"""Of the tokens that are too many."""


def of_another(*encodings: Encoding) -> list[str]:
    """Warn of each encoding that replaces the model's own, which is not installed."""
    return [
        f"Tokens are estimated with {encoding.name}: the model's own vocabulary, {encoding.missing}, is not in "
        "tiktoken's cache (TIKTOKEN_CACHE_DIR), and nothing is downloaded."
        for encoding in encodings
        if encoding.missing
    ]
