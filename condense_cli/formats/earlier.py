"""Return the conversation of a file as it was before its last compaction, or before a prompt.

Clients leave in the file what they compacted away, and write behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..core.transcript import Message, Transcript
from ..core.values import BlockKind, Container, Role
from ..core.wording import brief, quoted
from ..errors import CondenseError
from .compacted import Compacted, CompactionKind, compactions, stretches


def before_compaction(transcript: Transcript) -> Transcript:
    """Return the conversation before the last compaction that made a summary, or dropped messages.

    Raises CondenseError if the file records none, or no longer holds what came before it.
    """
    found = compactions(transcript.source, transcript.format)
    if found is None:
        raise CondenseError(
            f"How clients compact files of the format {transcript.format} is not known.",
            "Leave out --before-compaction.",
        )
    made = [one for one in found if one.kind is not CompactionKind.CLEARED]
    if not made:
        raise CondenseError("The file records no compaction.", "Leave out --before-compaction.")
    before = next(stretches(transcript, made[-1:])).before
    if before is None:
        raise CondenseError("The file no longer holds what came before its last compaction.", "Use a backup of it.")
    return before


def before_prompt(transcript: Transcript, words: str) -> Transcript:
    """Return the conversation before the last prompt of the user that holds some words, whatever their case.

    Looks before compactions as well. Raises CondenseError if there is none, or nothing comes before it.
    """
    if transcript.source.container is not Container.LINES:
        raise CondenseError(f"--until works on files with a record a line, not on {transcript.format}.")
    prompts = dict(_prompts(transcript))
    record = max((at for at, text in prompts.items() if words.casefold() in text.casefold()), default=None)
    if record is None:
        last = "; ".join(quoted(brief(" ".join(text.split()), 40)) for _, text in sorted(prompts.items())[-3:])
        raise CondenseError(f"No prompt holds {quoted(words)}.", f"The last ones are: {last}." if last else "")
    total = len(transcript.source.spans)
    before = next(stretches(transcript, [Compacted(range(record, total), total)])).before
    if before is None:
        raise CondenseError(f"Nothing comes before the prompt {quoted(brief(prompts[record]))}.")
    return before


def _prompts(transcript: Transcript) -> Iterator[tuple[int, str]]:
    """Yield the record and the text of each prompt, also of those that were compacted away."""
    found = [
        one
        for one in compactions(transcript.source, transcript.format) or []
        if one.kind is not CompactionKind.CLEARED and one.end == one.wrote.stop
    ]
    conversations = [stretch.before.messages for stretch in stretches(transcript, found) if stretch.before is not None]
    for messages in (*conversations, transcript.messages):
        yield from _typed(messages)


def _typed(messages: tuple[Message, ...]) -> Iterator[tuple[int, str]]:
    for message in messages:
        for block in message.blocks if message.role is Role.USER else ():
            is_typed = block.kind is BlockKind.TEXT and block.answers is None
            if is_typed and not (block.injected or block.summarizes) and block.text.strip():
                yield block.place.record, block.text
