"""The summarizer that needs no model: it picks the lines that later work needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ..core.transcript import Block, Message, Place
from ..core.values import BlockKind, Role
from ..tokens.counting import Counter
from .receipts import positions_of
from .summaries import OFFLINE, BatchTask, Outcome, Refused, Task, TextTask, Written

if TYPE_CHECKING:
    from ..extractive.parts import Key
    from ..extractive.survey import Survey

_LEAST_ROOM: Final = 100
_SHARE: Final = 5
_LEAST: Final = 300
_MOST: Final = 8_000
"""Tokens of a batch summary where nobody says how long it may get: a fifth of what it replaces, within these."""


class Offline:
    """Summarizes with lines of the text itself, which stay as they were; see `extractive`.

    That is imported when it is needed: most runs summarize nothing.
    """

    def __init__(self, count: Counter) -> None:
        self.count = count
        self._last: tuple[list[Message], Survey] | None = None

    def works_offline(self, profile: str | None) -> bool:
        return True

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        texts = [task for task in tasks if isinstance(task, TextTask)]
        shortened = self._shortened(texts, messages) if texts else {}
        batches = [task for task in tasks if isinstance(task, BatchTask)]
        written = iter(self._batches(batches, messages) if batches else ())
        return [
            next(written) if isinstance(task, BatchTask) else Written(shortened[task], OFFLINE, is_extract=True)
            for task in tasks
        ]

    def _shortened(self, tasks: Sequence[TextTask], messages: Sequence[Message]) -> dict[TextTask, str]:
        from ..extractive.shorten import shorten_each
        from ..extractive.survey import Survey

        survey = Survey(messages, self.count)
        places = positions_of(messages)
        keys: dict[TextTask, Key] = {task: (*places[task.block.key], task.path) for task in tasks}
        limits = {key: task.max_tokens for task, key in keys.items()}
        texts = shorten_each(survey, limits)
        return {task: texts[key] for task, key in keys.items()}

    def _batches(self, tasks: Sequence[BatchTask], messages: Sequence[Message]) -> list[Outcome]:
        """Lines for all summaries, chosen together, so that one need not say what another does.

        An earlier summary stays word for word where there is room for it beside what is new; else its lines compete.
        """
        from ..extractive.shorten import summaries

        plans = [self._plan(task) for task in tasks]
        task_at = {position: number for number, task in enumerate(tasks) for position in task.positions}
        runs: list[list[int]] = [[] for _ in tasks]
        read: list[Message] = []
        for position, message in enumerate(messages):
            number = task_at.get(position)
            if number is None:
                read.append(message)
                continue
            task = tasks[number]
            if task.previous and position == task.positions[0]:
                if not plans[number].stays:
                    runs[number].append(len(read))
                read.append(_said_before(task.previous, message))
            if not message.is_summary:
                runs[number].append(len(read))
                read.append(message)
        survey = self._survey(read)
        if all(task.room is None for task in tasks):  # It is asked once then.
            self._last = None
        texts = summaries(survey, runs, sum(plan.budget for plan in plans))
        if not texts:
            return [Refused("not one line fits into its tokens") for _ in tasks]
        before = (f"{task.previous}\n\n" if plan.stays else "" for task, plan in zip(tasks, plans, strict=True))
        return [Written(f"{old}{text}", OFFLINE) for old, text in zip(before, texts, strict=True)]

    def _survey(self, messages: list[Message]) -> Survey:
        """The same as the last time where it was asked for the same: only the room was another."""
        from ..extractive.survey import Survey

        if self._last is None or self._last[0] != messages:
            self._last = messages, Survey(messages, self.count)
        return self._last[1]

    def _plan(self, task: BatchTask) -> _Plan:
        replaced = sum(map(self.count.message, task.messages))
        share = min(_MOST, replaced // _SHARE)
        before = self.count(f"{task.previous}\n\n") if task.previous else 0
        if task.max_tokens is not None:
            most = task.max_tokens
        elif task.room is None:
            most = before + max(_LEAST, share)
        else:
            # Room for hardly a line means a target that is out of reach, and then a summary is better than none.
            most = min(max(task.room, _LEAST_ROOM), before + replaced)
        stays = before > 0 and most - before >= min(max(_LEAST_ROOM, share), replaced)
        return _Plan(most - before if stays else most, stays)


class _Plan(Struct, frozen=True):
    """How many tokens are free to lines of a batch; whether an earlier summary `stays` as it is besides."""

    budget: int
    stays: bool


def _said_before(text: str, first: Message) -> Message:
    """An earlier summary as a message of the assistant; `first` is what goes."""
    place = Place(first.blocks[0].place.record, ("previous",))
    return Message(-1, Role.ASSISTANT, (Block(BlockKind.TEXT, place, (), content=text, summarizes=True),))
