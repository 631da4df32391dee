"""One of each thing that a package may bring to condense."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from condense_cli.extending import (
    BatchTask,
    Block,
    BlockKind,
    Capabilities,
    Configuration,
    ContentOperation,
    ContentTypeOperations,
    Counter,
    Document,
    Evidence,
    Family,
    Format,
    Globs,
    IndividualConfig,
    Message,
    Outcome,
    PassConfig,
    Place,
    Predicate,
    Provider,
    Role,
    Selection,
    Task,
    Transcript,
    Written,
    not_a_message,
)

# --- A provider: commands that succeeded say less ---------------------------------------------------------------------


class QuietConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings: what `provider_config` of a configuration may say, and --set."""

    keep_recent: Annotated[int, Meta(ge=0)] = 6
    min_tokens: Annotated[int, Meta(ge=0)] = 200
    tools: tuple[str, ...] = ("bash", "shell*", "exec*", "execute_command")


class Quiet(Provider[QuietConfig]):
    id = "quiet"
    name = "Quiet commands"
    description = "Leaves out what old commands printed that succeeded; what failed stays word for word."
    version = "1.0.0"
    best_for = "sessions full of builds and test runs"
    example = "min_tokens=500"
    capabilities = Capabilities(lossy=True, thresholds=True, speed="fast")
    settings = QuietConfig

    def compiled(self, configuration: Configuration, settings: QuietConfig) -> Configuration:
        suppress = ContentOperation(operation="suppress", min_tokens=settings.min_tokens)
        only = PassConfig(
            id="quiet",
            name="Quiet commands",
            selection=Selection(
                type="preserve_recent",
                keep_recent_count=settings.keep_recent,
                tools=Globs(include=settings.tools),
                failed=False,
            ),
            individual_config=IndividualConfig(defaults=ContentTypeOperations(tool_results=suppress)),
        )
        return replace(configuration, passes=(only,))


# --- A selector: blocks that look like logs ---------------------------------------------------------------------------

_TIME = re.compile(r"\W*(\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)")


def logs(messages: Sequence[Message], count: Counter) -> Predicate:
    """Holds for texts most of whose lines begin with a date or a time."""

    def is_log(message: Message, block: Block) -> bool:
        lines = [line for line in block.text.splitlines() if line.strip()]
        return 2 * sum(_TIME.match(line) is not None for line in lines) > len(lines)

    return is_log


# --- A format: {"speaker": "human", "line": "..."} --------------------------------------------------------------------

_ROLES = {"human": Role.USER, "machine": Role.ASSISTANT}


def _evidence(value: Any) -> Evidence:
    return Evidence.YES if isinstance(value, dict) and value.keys() == {"speaker", "line"} else Evidence.NO


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    messages: list[Message] = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        role = _ROLES.get(str(value.get("speaker"))) if isinstance(value, dict) else None
        if role is None:
            raise not_a_message(record, value, "its speaker is neither human nor machine")
        # Where the text stands: writing exchanges the value at this path of the record, and nothing else.
        block = Block(BlockKind.TEXT, Place(record, ("line",)), ("line",), content=value["line"])
        messages.append(Message(len(messages), role, (block,)))
    return Transcript("speaker-lines", Family.OPENAI_CHAT, tuple(messages), document.source)


SPEAKER_LINES = Format("speaker-lines", Family.OPENAI_CHAT, "Lines by a human and a machine", _evidence, _read)


# --- A summarizer: the first line of everything -----------------------------------------------------------------------


class FirstLines:
    """Made for each run with its counter; gives one answer for each task, in their order."""

    def __init__(self, count: Counter) -> None:
        self.count = count

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        return [Written(_first_lines(task), by="first-lines") for task in tasks]


def _first_lines(task: Task) -> str:
    if not isinstance(task, BatchTask):
        return task.text.strip().partition("\n")[0]
    texts = [block.text.strip() for message in task.messages for block in message.blocks]
    return "\n".join(text.partition("\n")[0] for text in texts if text)
