"""Hooks in a client's settings: events, each with groups of commands, among them ours. Both clients write them so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from .commands import hook_command, is_ours, runs
from .json_settings import part

_SECONDS: Final = 60


class Hook(Struct, frozen=True):
    """An event of a client, our name for it, and for which kind of it the hook is."""

    event: str
    name: str
    matcher: str = ""


HOOKS: Final = (
    Hook("SessionStart", "session-start", "compact"),
    Hook("PreCompact", "pre-compact"),
    Hook("Stop", "stop"),
)


def with_hooks(settings: Mapping[str, Any], client: str) -> dict[str, Any]:
    """Settings with our hooks, each once and as they are to be: where one of ours was, else behind those of others.

    Codex knows hooks that are trusted by their place, those of others as well. Raises UnreadableError.
    """
    after: dict[str, Any] = dict(part(settings, "hooks", dict))
    for hook in HOOKS:
        wanted = entry(hook, client)
        groups: list[Any] = []
        for group in part(after, hook.event, list):
            if not _is_only_ours(group):
                groups.append(_without_ours(group))
            elif wanted not in groups:
                groups.append(wanted)
        after[hook.event] = groups if wanted in groups else [*groups, wanted]
    return {**settings, "hooks": after}


def entry(hook: Hook, client: str) -> dict[str, Any]:
    command = {"type": "command", "command": hook_command(client, hook.name), "timeout": _SECONDS}
    return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [command]}


def without_hooks(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without our hooks. What others have stays as it is; what held ours alone goes."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict) or not any(True for _ in commands_in(settings)):
        return dict(settings)
    kept: dict[str, Any] = {}
    for event, groups in hooks.items():
        left = [_without_ours(group) for group in groups] if isinstance(groups, list) else groups
        if isinstance(left, list):
            left = [group for group in left if group is not None]
        if left or not groups:
            kept[event] = left
    return {key: kept if key == "hooks" else value for key, value in settings.items() if key != "hooks" or kept}


def commands_in(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Events and command lines of ours."""
    hooks = settings.get("hooks")
    for event in hooks if isinstance(hooks, dict) else ():
        for group in _groups(settings, event):
            for each in _handlers(group):
                if runs_ours(each):
                    yield event, str(each["command"])


def problems_of(settings: Mapping[str, Any]) -> Iterator[str]:
    """Hooks that are not there, or cannot run, in sentences."""
    found = dict(commands_in(settings))
    for hook in HOOKS:
        command = found.get(hook.event)
        if command is None:
            yield f"The hook for {hook.event} is not installed."
        elif not runs(command):
            yield f"The hook for {hook.event} runs a program that is not there: {command}"


def _groups(settings: Mapping[str, Any], event: str) -> list[Any]:
    hooks = settings.get("hooks")
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    return groups if isinstance(groups, list) else []


def _handlers(group: Any) -> list[Any]:
    handlers = group.get("hooks") if isinstance(group, dict) else None
    return handlers if isinstance(handlers, list) else []


def runs_ours(entry: Any) -> bool:
    """Whether a hook, or a status line, is a command of ours."""
    return isinstance(entry, dict) and is_ours(entry.get("command"))


def _is_only_ours(group: Any) -> bool:
    handlers = _handlers(group)
    return bool(handlers) and all(map(runs_ours, handlers))


def _without_ours(group: Any) -> Any:
    """A group without our commands; None where there were no others. One without ours is the same object."""
    handlers = _handlers(group)
    others = [each for each in handlers if not runs_ours(each)]
    if len(others) == len(handlers):
        return group
    return {**group, "hooks": others} if others else None
