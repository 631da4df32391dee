"""Summarizers for tests: what a model could answer, and could fail to."""

from collections.abc import Sequence

from msgspec import Struct

from condense_cli.core.transcript import Message
from condense_cli.passes.summaries import BatchTask, Outcome, Refused, Summarizer, Task, Written


class Short(Struct, frozen=True):
    """Says in a few words what it was asked to summarize."""

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        return [Written(_told(task), by="short") for task in tasks]


class Failing(Struct, frozen=True):
    """Refuses every task, or from the second on every other one."""

    every: int = 1

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        return [
            Refused("the model is overloaded") if number % self.every == 0 else Written(_told(task), by="failing")
            for number, task in enumerate(tasks)
        ]


class Wordy(Struct, frozen=True):
    """Writes more than it was given."""

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        more = "\n".join(f"That was all of it, said {n} times." for n in range(200))
        return [Written(f"{_all(task)}\n{more}", by="wordy") for task in tasks]


SUMMARIZERS: tuple[Summarizer, ...] = (Short(), Failing(), Failing(2), Wordy())


def _told(task: Task) -> str:
    if isinstance(task, BatchTask):
        return f"{len(task.messages)} messages, about {len(_all(task)) // 100} hundred characters."
    return f"Begins {task.text.split()[:1]}."


def _all(task: Task) -> str:
    if isinstance(task, BatchTask):
        return "\n".join(block.text for message in task.messages for block in message.blocks)
    return task.text
