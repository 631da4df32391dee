"""Law 5 for the user's own words and the newest turns, as checks on one run."""

from msgspec.structs import replace

from condense_cli import api
from condense_cli.config.models import Configuration, ExtractConfig, Selection
from condense_cli.core.markers import parse_gap
from condense_cli.core.selectors import is_exact, parse_selector
from condense_cli.core.transcript import Block, Message
from condense_cli.core.values import BlockKind, ContentType
from condense_cli.extractive.answers import is_typed, words_in
from condense_cli.ledger.text import parse
from condense_cli.lossless.decode import decode
from condense_cli.lossless.lines import read_lines
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.limits import in_steps
from condense_cli.passes.modes.sliding_window import PASS
from condense_cli.passes.receipts import Kept
from condense_cli.passes.selection import meant, protect
from condense_cli.passes.words import lost
from condense_cli.tokens.counting import Counter
from condense_cli.toolcalls.tools import arguments_of, string_values

SIX = 6
_SMALL = 60
"""Tokens that a text may keep where nothing else can go: what two markers cost, and a short line beside them."""


def users_words_go_last(result: Condensation, configuration: Configuration, count: Counter) -> None:
    """Words of the user are gone only where the configuration names them, or where all else is, and it is said.

    A selector of `cut` names the words of the very message or block that it means.
    """
    before, after = (decode(transcript.messages).messages for transcript in (result.before, result.transcript))
    gone = lost(before, after)
    if not gone or any(receipt.id == PASS for receipt in result.passes):
        return
    assert any("own words" in warning for warning in result.warnings)
    named = meant([each for each in map(parse_selector, configuration.cut) if is_exact(each)], before)
    gone = [address for address in gone if address not in named]
    if not gone or _names_words(configuration):
        return
    assert result.target is not None
    if not _cuts_all(configuration):
        return
    protection = protect(configuration, before, count, result.before.model)
    texts = [_block(before, index, number).text for index, number in gone]
    longest = max(count(line) for text in texts for line in text.split("\n"))
    words = {line.strip() for text in texts for line in read_lines(text).keys}
    stays = {(receipt.message, receipt.block) for receipt in result.last_receipts if receipt.kept is Kept.NEWEST_STATE}
    for message in after:
        for number, block in enumerate(message.blocks):
            if block.summarizes or is_typed(message, block) or words_in(block) or protection.of(message, block):
                continue
            if (message.index, number) in stays:
                continue
            for text in _texts(block):
                assert count(_other_lines(text, words)) <= max(_SMALL, longest), text


def _block(messages: tuple[Message, ...], index: int, number: int) -> Block:
    return next(message for message in messages if message.index == index).blocks[number]


def _texts(block: Block) -> list[str]:
    if block.content_type in (None, ContentType.IMAGES):
        return []
    if block.kind is not BlockKind.TOOL_CALL:
        return [block.text]
    arguments = arguments_of(block)
    return [value for _, value in string_values(arguments)] if isinstance(arguments, dict) else []


def _other_lines(text: str, words: set[str]) -> str:
    """Without markers, and without what somebody else says in the user's words: it stays for these."""
    lines = read_lines(text)
    others = (line for line, said in zip(lines.lines, lines.keys, strict=True) if said.strip() not in words)
    return "\n".join(line for line in others if not parse_gap(line))


def _names_words(configuration: Configuration) -> bool:
    return any(config.mode == "individual" for config in configuration.passes)


def _cuts_all(configuration: Configuration) -> bool:
    """Whether some pass may shorten whatever is not protected."""
    everything = Selection(type="preserve_recent", keep_recent_count=0)
    cutting = (ExtractConfig(), ExtractConfig(may_summarize=True))
    return any(
        config.mode == "extract"
        and config.selection == everything
        and (config.extract_config or ExtractConfig()) in cutting
        and config.execution.type != "conditional"
        for config in configuration.passes
    )


def newest_stay(result: Condensation, configuration: Configuration, count: Counter) -> None:
    """The newest six turns are whole while they take a third of the target at most, where it can be met with them."""
    if result.target is None or result.is_target_missed or not result.changes:
        return
    before = decode(result.before.messages).messages
    turns = 5 if configuration.name == "max" else SIX  # Its summary leaves five.
    newest = [message for message in before if not message.is_only_thinking][-turns:]
    if 3 * sum(map(count.message, newest)) > result.target or are_whole(result, newest):
        return
    alone = tuple(in_steps(config)[0] for config in configuration.passes if config.mode == "target")
    again = api.condense(result.before, replace(configuration, passes=alone), counter=count)
    assert again.is_target_missed or not alone


def are_whole(result: Condensation, messages: list[Message]) -> bool:
    """Whether every block of these messages says what it said."""
    after = {
        (block.place, block.span): block
        for message in decode(result.transcript.messages).messages
        for block in message.blocks
    }
    blocks = [block for message in messages for block in message.blocks if block.kind is not BlockKind.THINKING]
    return all((found := after.get((block.place, block.span))) and found.reads_as(block) for block in blocks)


def quoted(result: Condensation) -> list[str]:
    """What the user said, in messages and as ledgers quote it."""
    found = []
    for message in result.transcript.messages:
        for block in message.blocks:
            ledger = parse(block.text) if block.summarizes else None
            found += [request.text for request in ledger.requests] if ledger else []
            found += [block.text] if is_typed(message, block) else []
    return found
