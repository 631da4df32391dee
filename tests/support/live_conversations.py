"""Made-up conversations that grow under a `Live`, which condenses them as soon as it may."""

from typing import Any

from agent_work import answer, asked, call
from build import assistant, read_turn, user
from live_replay import Eager

from condense_cli import Live


def lines(name: str, number: int = 200) -> str:
    return "\n".join(f"{name} {n}: the value of item {n} is {n * n}" for n in range(number))


def turns(first: int, last: int) -> list[Any]:
    return [message for n in range(first, last) for message in read_turn(f"toolu_{n}", f"src/{n}.py", lines(f"f{n}"))]


def conversation(number: int = 10) -> list[Any]:
    return [user("Please find the bug."), *turns(0, number), assistant("Found it."), user("Thanks, go on.")]


def chat(number: int) -> list[Any]:
    """A conversation in chat completions, as further APIs spell it differently."""
    messages = [user("Please find the bug.")]
    for n in range(number):
        messages.append(asked(call(f"c{n}", "read_file", path=f"src/{n}.py"), text=""))
        messages.append(answer(f"c{n}", lines(f"f{n}")))
    return [*messages, assistant("Found it."), user("Thanks, go on.")]


def live_of(**more: Any) -> Live:
    return Live(**{"preset": "cost", "policy": Eager(), "keep_recent": 2, "format": "anthropic", **more})


def finished(live: Live) -> None:
    """Wait for what is worked on beside the conversation."""
    work = live._decider._work
    assert work is not None
    work.result(None)
