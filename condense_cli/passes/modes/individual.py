"""A pass in individual mode: one operation per content type, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ...config.models import (
    Configuration,
    ContentOperation,
    ContentTypeOperations,
    ImageOperation,
    IndividualConfig,
    PartialOperations,
)
from ...core.transcript import Block, BlockPlace, Message
from ...core.values import BlockKind, ContentType, Role
from ...extractive.answers import words_in
from ..blocks import operations
from ..blocks.state import REPLACED
from ..receipts import Kept, Receipt, changed, kept
from ..selection import why_untouched
from ..sheet import Sheet, Step
from ..summaries import Outcome, Refused, TextTask


class Candidate(Struct, frozen=True):
    """A block that the pass may touch, and what it does to it. `names` are what it is called, the closest first.

    `place` is its place in the sheet, `message` the message there as the step found it.
    """

    place: BlockPlace
    message: Message
    names: tuple[str, ...]
    operation: ContentOperation | ImageOperation
    tokens: int

    @property
    def block(self) -> Block:
        return self.message.blocks[self.place[1]]


def run_individual(step: Step) -> list[Receipt]:
    """Work through the sheet and give a receipt for every block of it.

    With a target the candidates are taken in the order of the pass (content types, then the oldest
    and in one message the largest first), and only until the target is reached, as it is written: what others refer to
    costs tokens again once it is cut.
    """
    sheet, target = step.sheet, step.target
    receipts: list[Receipt] = []
    candidates: list[Candidate] = []
    for found in _candidates(sheet, step):
        if isinstance(found, Candidate):
            candidates.append(found)
        else:
            receipts.append(found)
    if target is not None:
        candidates = _in_order(candidates, step.config.order)
    summaries = _Summaries(step, candidates)
    is_reached, misses, slack = False, 0, 0
    for number, candidate in enumerate(candidates):
        if target is not None and not is_reached and sheet.tokens <= target - slack:
            free = sheet.free(target)
            # Each further miss lets more be cut before it is measured again.
            is_reached, slack, misses = free >= 0, misses * -free, misses + 1
        if is_reached:
            outcome: Block | Kept | Refused = Kept.TARGET_REACHED
        else:
            outcome = _apply(sheet, candidate, step.strictness, summaries.up_to(number))
        receipts.append(_receipt(sheet, step, candidate, outcome))
        if isinstance(outcome, Block):
            sheet.put(*candidate.place, outcome)
    return receipts


def _in_order(candidates: Sequence[Candidate], order: Sequence[str]) -> list[Candidate]:
    """The candidates by what they are called, in this order; then the oldest first, in one message the largest."""
    rank = {name: number for number, name in enumerate(order)}

    def key(candidate: Candidate) -> tuple[int, int, int]:
        by_name = next((rank[name] for name in candidate.names if name in rank), len(rank))
        return by_name, candidate.place[0], -candidate.tokens

    return sorted(candidates, key=key)


def _receipt(sheet: Sheet, step: Step, candidate: Candidate, outcome: Block | Kept | Refused) -> Receipt:
    pass_id = step.config.id
    message, number, before = candidate.message, candidate.place[1], candidate.tokens
    if isinstance(outcome, Refused):
        return replace(kept(pass_id, message, number, before, Kept.NO_SUMMARY), reason=outcome.reason)
    if isinstance(outcome, Kept):
        return kept(pass_id, message, number, before, outcome)
    reason = step.why(candidate.block, operations.stays_text(candidate.operation, step.strictness))
    state = sheet.state_of(candidate.block)
    if state and state.is_left_out_of(outcome) and not state.is_left_out_of(candidate.block):
        reason = REPLACED
    return changed(pass_id, message, number, candidate.operation.operation, before, sheet.count.block(outcome), reason)


class _Summaries:
    """The summaries of candidates, asked for together: all at once, or as many as the target seems to need."""

    def __init__(self, step: Step, candidates: Sequence[Candidate]) -> None:
        self.sheet, self.summarizer, self.step, self.candidates = step.sheet, step.summarizer, step, candidates
        self._messages = step.sheet.messages
        self._asked = 0
        self._outcomes: dict[TextTask, Outcome] = {}

    def up_to(self, position: int) -> dict[TextTask, Outcome]:
        """Return the outcome of the tasks of at least the candidates up to this one."""
        if position >= self._asked:
            tasks = [task for task in dict.fromkeys(self._next()) if task not in self._outcomes]
            if tasks:
                self._outcomes.update(zip(tasks, self.summarizer.summarize(tasks, self._messages), strict=True))
        return self._outcomes

    def _next(self) -> Iterator[TextTask]:
        expected, target = self.sheet.tokens, self.step.target
        while self._asked < len(self.candidates) and (target is None or expected > target):
            candidate = self.candidates[self._asked]
            self._asked += 1
            if isinstance(candidate.operation, ContentOperation):
                for task in _tasks(self.sheet, candidate, self.step.strictness):
                    expected -= self.sheet.count(task.text) - task.max_tokens
                    yield task


def _tasks(sheet: Sheet, candidate: Candidate, strictness: float) -> Iterator[TextTask]:
    """The summaries that a candidate needs."""
    if isinstance(candidate.operation, ContentOperation):
        state = sheet.state_of(candidate.block)
        yield from operations.summary_tasks(candidate.block, candidate.operation, sheet.count, strictness, state)


def _apply(
    sheet: Sheet, candidate: Candidate, strictness: float, summaries: operations.Summaries
) -> Block | Kept | Refused:
    block, operation = candidate.block, candidate.operation
    if isinstance(operation, ContentOperation):
        if operation.operation == "summarize":
            written = {task: summaries[task] for task in _tasks(sheet, candidate, strictness)}
            return operations.summarize(block, operation, sheet.count, strictness, written, sheet.state_of(block))
        return operations.apply(block, operation, sheet.count, strictness, sheet.state_of(block))
    is_result = block.call_id is not None or candidate.message.role is Role.TOOL
    kind = BlockKind.TOOL_RESULT if is_result else BlockKind.TEXT
    return operations.leave_out_image(block, kind, operation, sheet.count, strictness)


def override_warnings(configuration: Configuration, messages: int) -> list[str]:
    """Overrides of messages that a transcript of so many does not have."""
    return [
        f"Pass {config.id} has an override for message {override.message_index}, and there are {messages:,}."
        for config in configuration.passes
        for override in (config.individual_config.overrides if config.individual_config else ())
        if not -messages <= override.message_index < messages
    ]


def _candidates(sheet: Sheet, step: Step) -> Iterator[Candidate | Receipt]:
    individual = step.config.individual_config or IndividualConfig()
    messages = sheet.messages
    length = messages[-1].index + 1 if messages else 0
    overrides = {
        override.message_index + (length if override.message_index < 0 else 0): override.operations
        for override in individual.overrides
    }
    for position, message in enumerate(messages):
        override, own_name = overrides.get(message.index), _own_name(message)
        for number, block in enumerate(message.blocks):
            tokens, names = sheet.count.block(block), _names(own_name, block.content_type)
            why = why_untouched(position, message, block, step.selected, sheet.protection)
            if why is None and not names:
                why = Kept.NO_CONTENT_TYPE
            if why is None and words_in(block):  # Whoever wants results cut does not mean these.
                why = Kept.WORDS
            if why is not None:
                yield kept(step.config.id, message, number, tokens, why)
            else:
                yield Candidate(
                    (position, number), message, names, _operation(names, override, individual.defaults), tokens
                )


def _operation(
    names: Sequence[str], override: PartialOperations | None, defaults: ContentTypeOperations
) -> ContentOperation | ImageOperation:
    """Return the operation for content of these names: an override first, then the closest name that has one."""
    given = (getattr(part, name) for part in (override, defaults) if part is not None for name in names)
    operation: ContentOperation | ImageOperation = next(each for each in given if each is not UNSET)
    return operation


def _own_name(message: Message) -> str:
    """Return a configuration's own name for the text of such a message; empty if it has none."""
    if message.role is Role.ASSISTANT and not message.has_calls:
        return "assistant_reasoning"
    return "user_messages" if message.role is Role.USER and not message.answers_calls else ""


def _names(own_name: str, content_type: ContentType | None) -> tuple[str, ...]:
    """Return a configuration's names for content of a message: the closest first, the content type last."""
    if content_type is None:
        return ()
    is_closer = own_name and content_type is ContentType.MESSAGE_TEXT
    return (own_name, content_type.value) if is_closer else (content_type.value,)
