"""`condense evaluate --profile … --prompt …`: ways whose summaries models write, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import product
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ...api.comparing import Contender, compare_files
from ...api.evaluating import Plan, Unread
from ...calling import Calls, OnDemand, check_profile
from ...config.models import Configuration
from ...core.tokens import Counter
from ...errors import ExitStatus, UsageError
from ...llm.budget import Budget
from ...quality.evaluation import Evaluated
from ...report.evaluation.comparison import ModelWay, model_way
from ...storage.files import read_bytes
from ..running.work import summaries_for
from ..running.workers import may_call

_OWN_PROMPT: Final = "default"
_OFFLINE: Final = "offline"


class _Named(Struct, frozen=True):
    """One way by what it is made of; None is the profile that the configuration names, and condense's own prompt."""

    configuration: str
    profile: str | None
    prompt: str | None


class Models:
    """The ways of one evaluation whose summaries models write, by the name to show."""

    def __init__(self, ways: Mapping[str, tuple[_Named, Contender]]) -> None:
        self._ways = ways

    @property
    def names(self) -> list[str]:
        return list(self._ways)

    @property
    def status(self) -> ExitStatus:
        stopped = any(contender.stopped for _, contender in self._ways.values())
        return ExitStatus.CALLS_FAILED if stopped else ExitStatus.DONE

    def measure(self, names: Sequence[str], plan: Plan, done: Callable[[float], None]) -> Sequence[Evaluated | Unread]:
        return compare_files(names, plan, [contender for _, contender in self._ways.values()], done)

    def facts(self) -> list[ModelWay]:
        """What came of each way; after measuring."""
        return [
            model_way(
                name, named.configuration, named.profile, named.prompt, contender.used.values(), contender.stopped
            )
            for name, (named, contender) in self._ways.items()
        ]


def models_of(
    configurations: Mapping[str, Configuration], profiles: list[str] | None, prompts: list[str] | None, calls: Calls
) -> Models:
    """Every configuration with every profile and every prompt. All calls together have the budget of `calls`.

    Raises CondenseError for a profile or a file that is not there, and where nothing permits a call.
    """
    if not profiles:
        _check_consent(calls)
    texts = {name: _prompt(name) for name in prompts or () if name != _OWN_PROMPT}
    budget = calls.budget()
    ways = {}
    for name, named in _named(list(configurations), profiles or (), prompts or ()).items():
        own = replace(calls, profile=named.profile)
        if named.profile is not None:
            check_profile(named.profile)
        configuration = configurations[named.configuration]
        opening = partial(_opened, configuration, own, budget)
        ways[name] = named, Contender(name, configuration, opening, texts.get(named.prompt or ""))
    return Models(ways)


def _opened(
    configuration: Configuration, calls: Calls, budget: Budget, count: Counter
) -> AbstractContextManager[OnDemand]:
    return summaries_for(configuration, count, calls, budget)


def _check_consent(calls: Calls) -> None:
    if not may_call(calls):
        raise UsageError(
            "--prompt needs a model to write summaries, and no call is permitted.",
            "Add --profile NAME or --allow-calls, or `allow_calls: true` to your own configuration.",
        )


def _named(configurations: Sequence[str], profiles: Sequence[str], prompts: Sequence[str]) -> dict[str, _Named]:
    """Every combination, by a name of what is not the same in all. One alone gets something to compare it with."""
    files = [None if prompt == _OWN_PROMPT else prompt for prompt in prompts]
    combined = product(configurations, dict.fromkeys(profiles) or (None,), dict.fromkeys(files) or (None,))
    named = [_Named(*each) for each in combined]
    if len(named) == 1:
        (only,) = named
        if only.prompt is not None:
            named = [replace(only, prompt=None), only]
        elif only.profile != _OFFLINE:
            named = [replace(only, profile=_OFFLINE), only]
    differ = [key for key in _Named.__struct_fields__ if len({getattr(each, key) for each in named}) > 1]
    return {", ".join(_said(each, key) for key in differ) or each.configuration: each for each in named}


def _said(named: _Named, key: str) -> str:
    match key:
        case "profile":
            return named.profile or "as configured"
        case "prompt":
            return f"prompt {named.prompt or _OWN_PROMPT}"
        case _:
            return named.configuration


def _prompt(name: str) -> str:
    """The text of a prompt's file. Raises UsageError and UnreadableError."""
    try:
        text = read_bytes(name).decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise UsageError(f"The prompt {name} is not UTF-8 text.") from None
    if not text:
        raise UsageError(f"The prompt {name} is empty.", f"--prompt {_OWN_PROMPT} is condense's own.")
    return text
