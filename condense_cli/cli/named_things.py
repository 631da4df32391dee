"""Groups of commands about things that have names: presets, providers, profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from typer.core import TyperGroup


def group_of(names: Callable[[], Iterable[str]]) -> type[TyperGroup]:
    """The class of a group whose `show` takes one of these names. A name where a command should stand is told so."""

    class Group(TyperGroup):
        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            first = args[0]
            is_completed = ctx.resilient_parsing  # By a shell, which wants no errors.
            if first not in self.commands and not is_completed and first in names():
                ctx.fail(f"No such command {first!r}. Did you mean '{ctx.command_path} show {first}'?")
            return super().resolve_command(ctx, args)

    return Group
