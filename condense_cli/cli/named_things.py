"""Groups of commands about things: presets, providers, profiles, the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from typer.core import TyperGroup

from ..core.wording import quoted


def group_of(default: str, names: Callable[[], Iterable[str]] = tuple) -> type[TyperGroup]:
    """The class of a group that runs its command `default` where none is named, and whose `show` takes one of `names`.

    A name where a command should stand is told so.
    """

    class Group(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            is_completed = ctx.resilient_parsing  # By a shell, which has to offer the commands.
            if not is_completed and args in ([], ["--json"]):
                args = [default, *args]
            return super().parse_args(ctx, args)

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            first = args[0]
            is_completed = ctx.resilient_parsing  # By a shell, which wants no errors.
            if first not in self.commands and not is_completed and first in names():
                ctx.fail(f"No such command {quoted(first)}. Did you mean '{ctx.command_path} show {first}'?")
            return super().resolve_command(ctx, args)

    return Group
