"""Change settings of clients: plan edits, show them, write them, and undo them.

Notes of the edits let a removal give back the same bytes: the settings alone do not tell whether a list was empty or
missing, or how a file ended.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.json_text import key_at, next_member, scan, skip, value_in
from ..core.user_folders import cache_folder
from ..errors import OutputError, UnreadableError
from ..storage.files import check_replaceable, output_errors, write_bytes
from .choices import Client

_INDENT: Final = re.compile(r"\{\r?\n([ \t]+)\"")


class JsonLayout(Struct, frozen=True):
    """Layout of a JSON text. Without an `indent` everything is on one line."""

    indent: str | None
    space: str
    escapes: bool
    line_end: str

    @classmethod
    def of(cls, text: str) -> JsonLayout:
        found = _INDENT.search(text)
        is_one_line = found is None and bool(text.strip()) and "\n" not in text.strip()
        indent = found[1] if found else None if is_one_line else "  "
        # Keep a text's escapes. Half a surrogate pair can be written in no other way.
        escapes = "\\u" in text and (text.isascii() or "\\ud" in text.lower())
        return cls(
            indent, "" if is_one_line and '": ' not in text else " ", escapes, "\r\n" if "\r\n" in text else "\n"
        )

    def dump(self, value: Any, margin: str | None = "") -> str:
        """Dump a value. Its further lines begin with `margin`; None puts it on one line."""
        indent = None if margin is None else self.indent
        separators = ("," if indent is not None else f",{self.space}", f":{self.space}")
        text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=self.escapes)
        return text.replace("\n", f"{self.line_end}{margin}")


class _Member(Struct, frozen=True):
    """A member of an object, or an element of a list: the space before it, its key as spelled, its value, and the
    space before the comma. `name` is the key, empty in a list."""

    lead: str
    key: str
    text: str
    rest: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.lead}{self.key}{self.text}{self.rest}"

    @property
    def margin(self) -> str | None:
        """Indentation of its lines; None if it shares its line."""
        return self.lead.rpartition("\n")[2] if "\n" in self.lead else None


def rewritten(text: str, before: Any, after: Any) -> str:
    """Rewrite the text of the value `before` as `after`. Parts that stay must be the same objects in both."""
    start = skip(text, 0)
    end = scan(text, start)[1]
    return text[:start] + _value(text[start:end], before, after, JsonLayout.of(text), "") + text[end:]


def _value(text: str, before: Any, after: Any, layout: JsonLayout, margin: str | None) -> str:
    if after is before:
        return text
    is_object = isinstance(before, dict) and isinstance(after, dict)
    if not is_object and not (isinstance(before, list) and isinstance(after, list)):
        return layout.dump(after, margin)
    found, tail = _members(text)
    new, tail = _new_member(found, tail, layout, margin)
    if is_object:
        last = {member.name: member for member in found}  # If a key is doubled, the last one counts.
        values = [
            (member, before[member.name], (after if member is last[member.name] else before)[member.name])
            for member in found
            if member.name in after
        ]
        values += [
            (replace(new, key=f"{layout.dump(key)}:{layout.space}"), ..., value)
            for key, value in after.items()
            if key not in before
        ]
    else:
        places = {id(value): place for place, value in enumerate(before)}
        stay = {places[id(value)] for value in after if id(value) in places}
        values = []
        for number, value in enumerate(after):
            place = places.get(id(value), number)
            is_old = id(value) in places or (place < len(before) and place not in stay)
            values.append((found[place], before[place], value) if is_old else (new, ..., value))
    members = [
        replace(member, text=_value(member.text, old, value, layout, member.margin)) for member, old, value in values
    ]
    return _joined("{}" if is_object else "[]", found, members, tail)


def _members(text: str) -> tuple[list[_Member], str]:
    """Split an object or list into its members and the space behind them."""
    found: list[_Member] = []
    closer = "}" if text[0] == "{" else "]"
    begins, index = 1, skip(text, 1)
    while text[index] != closer:
        start, name, value = index, "", index
        if closer == "}":
            name, _, value = key_at(text, index)
        end = scan(text, value)[1]
        index = next_member(text, end, closer)
        is_last = text[index] == closer
        comma = end if is_last else text.index(",", end)
        found.append(_Member(text[begins:start], text[start:value], text[value:end], text[end:comma], name))
        begins = end if is_last else comma + 1
    return found, text[begins:-1]


def _new_member(found: list[_Member], tail: str, layout: JsonLayout, margin: str | None) -> tuple[_Member, str]:
    """Return an empty member laid out like its neighbours, and the space behind the last one."""
    if found:
        lead = found[-1].lead
        return _Member(layout.space if len(found) == 1 and "\n" not in lead else lead, "", ""), tail
    if margin is None or layout.indent is None:
        return _Member(layout.space, "", ""), ""
    line = layout.line_end + margin
    return _Member(line + layout.indent, "", ""), line


def _joined(brackets: str, before: list[_Member], members: list[_Member], tail: str) -> str:
    if not members:
        return brackets
    first = members[0]
    lead = before[0].lead if before else first.lead if first.margin is not None else ""
    text = ",".join(map(str, [replace(first, lead=lead), *members[1:]]))
    return f"{brackets[0]}{text}{tail}{brackets[1]}"


class Target(Struct, frozen=True):
    """The settings of a client for this user, or for one `project` of theirs.

    `has_mcp`: the package that the MCP server needs is installed.
    """

    home: Path
    environment: Mapping[str, str]
    project: Path | None = None
    has_mcp: bool = True


class SettingsEdit(Struct, frozen=True):
    """A file before and after; None for no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def is_change(self) -> bool:
        return self.before != self.after

    def shown(self) -> Iterator[str]:
        """Yield the removed and added lines, with a few around."""
        before, after = ((text or "").splitlines() for text in (self.before, self.after))
        where = f"{self.path} → {os.path.realpath(self.path)}" if self.path.is_symlink() else str(self.path)
        yield f"{where}{' (new)' if self.before is None else ' (removed)' if self.after is None else ''}"
        for line in list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]:
            yield f"  {line}" if not line.startswith("@@") else "  …"

    def write(self) -> None:
        """Write the file. Raises OutputError, also if it changed since it was read."""
        target = Path(os.path.realpath(self.path))  # Some users keep their settings elsewhere and link to them.
        if read_text(target) != self.before:
            raise OutputError(f"{self.path} changed just now.", "Nothing was written. Try again.")
        with output_errors(self.path):
            check_replaceable(target)
            if self.after is None:
                target.unlink()
                return
            target.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(target, self.after.encode())


class InstallPlan(Struct, frozen=True):
    """Edits of files, and remarks on what the user has to do or what was left alone."""

    edits: tuple[SettingsEdit, ...]
    remarks: tuple[str, ...] = ()

    @property
    def changes(self) -> list[SettingsEdit]:
        return [edit for edit in self.edits if edit.is_change]


def read_text(path: Path) -> str | None:
    """Read a file; None if there is none. Raises UnreadableError."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{path} cannot be read: {error}.", "Nothing was written.") from error


Settings = dict[str, Any]
T = TypeVar("T", dict[str, Any], list[Any])


def settings_in(path: Path) -> tuple[str | None, Settings]:
    """Read a file and the object in it, empty if there is no file. Raises UnreadableError."""
    text = read_text(path)
    if text is None or not text.strip():
        return text, {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"{path} is not JSON: {error}.", "Nothing was written. Fix it first.") from error
    if not isinstance(found, dict):
        raise UnreadableError(f"{path} does not hold a JSON object.", "Nothing was written. Fix it first.")
    return text, found


def part(holder: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """Return the value of a key, empty if there is none.

    Raises UnreadableError for a value of another kind: what condense does not understand is not overwritten.
    """
    found = holder.get(key)
    if found is None:
        return kind()
    if not isinstance(found, kind):
        what = {dict: "an object", list: "a list"}[kind]
        raise UnreadableError(f"{key!r} in the client's settings is not {what}.", "Nothing was written. Fix it first.")
    return found


def edit_of(path: Path, text: str | None, before: Settings, after: Settings) -> SettingsEdit:
    """Plan a file with other settings. Equal settings leave it as it is, empty ones remove it."""
    if before == after:
        return SettingsEdit(path, text, text)
    if not after:
        return SettingsEdit(path, text, None)
    return SettingsEdit(path, text, _written(text or "", before, after))


def _written(text: str, before: Settings, after: Settings) -> str:
    """Put other settings into a text and keep the rest of it."""
    if text.strip():
        written = rewritten(text, before, after)
        if json.loads(written) == after:
            return written
    layout = JsonLayout.of(text)
    return layout.dump(after) + (layout.line_end if not text or text.endswith("\n") else "")


_NAME: Final = re.compile(r"(?:^|[/\\])condense(?:\.exe)?$")


def program() -> list[str]:
    """Return the command that runs condense from anywhere: the script beside this Python, or the package.

    The current folder is never among the folders that Python imports from: it belongs to a project.
    """
    name = "condense.exe" if sys.platform == "win32" else "condense"
    script = Path(sys.executable).with_name(name)
    return [str(script)] if script.is_file() else [sys.executable, "-P", "-m", "condense_cli"]


def hook_command(client: str, event: str) -> str:
    return line_of([*program(), "hook", client, event])


def line_of(words: Sequence[str]) -> str:
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def is_ours(command: object) -> bool:
    """Check if a command runs our hook and nothing else, from this or an earlier installation."""
    words = _words(command)
    return words[-3:-1] in (["hook", "claude-code"], ["hook", "codex"]) and _is_condense(words[:-3])


def is_our_server(entry: object) -> bool:
    """Check if an entry of a client's servers starts ours."""
    arguments = value_in(entry, "args")
    if not isinstance(arguments, list) or arguments[-1:] != ["mcp"]:
        return False
    return _is_condense([str(value_in(entry, "command")), *arguments[:-1]])


def _is_condense(words: Sequence[object]) -> bool:
    if len(words) == 1:
        return _NAME.search(str(words[0])) is not None
    return list(words[1:]) in (["-P", "-m", "condense_cli"], ["-m", "condense_cli"])


def _words(command: object) -> list[str]:
    try:
        words = shlex.split(command, posix=sys.platform != "win32") if isinstance(command, str) else []
    except ValueError:
        return []
    return [word.strip('"') for word in words]


def runs(command: str) -> bool:
    """Check if the program of a command line exists."""
    words = _words(command)
    return bool(words) and Path(words[0]).is_file()


SERVER: Final = "condense"
"""Name of the MCP server in settings of clients."""

_HOOK_SECONDS: Final = 60


class Hook(Struct, frozen=True):
    """A client's event, our name for it, and the kind of it that the hook is for; `client` if only one has it."""

    event: str
    name: str
    matcher: str = ""
    client: str = ""


HOOKS: Final = (
    Hook("SessionStart", "session-start", "compact"),
    Hook("PreCompact", "pre-compact"),
    Hook("Stop", "stop"),
    Hook("UserPromptExpansion", "condense", "condense", Client.CLAUDE_CODE),
)


def hooks_of(client: str) -> list[Hook]:
    return [hook for hook in HOOKS if hook.client in ("", client)]


def with_hooks(settings: Mapping[str, Any], client: str) -> dict[str, Any]:
    """Add our hooks to settings, each once: in the place of an earlier one of ours, else behind the others.

    Codex trusts hooks by position, also those of others. Raises UnreadableError.
    """
    after: dict[str, Any] = dict(part(settings, "hooks", dict))
    for hook in hooks_of(client):
        wanted = entry(hook, client)
        groups: list[Any] = []
        for group in part(after, hook.event, list):
            others = _without_ours(group)
            if others is not None:
                groups.append(others)
            elif wanted not in groups:
                groups.append(wanted)
        after[hook.event] = groups if wanted in groups else [*groups, wanted]
    return {**settings, "hooks": after}


def entry(hook: Hook, client: str) -> dict[str, Any]:
    command = {"type": "command", "command": hook_command(client, hook.name), "timeout": _HOOK_SECONDS}
    return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [command]}


def without_hooks(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Remove our hooks from settings, and the lists that held nothing else."""
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
    """Yield (event, command line) of our hooks."""
    hooks = settings.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            yield from ((event, str(each["command"])) for each in _handlers(group) if runs_ours(each))


def problems_of(settings: Mapping[str, Any], client: str) -> Iterator[str]:
    """Yield sentences about hooks that are missing or cannot run."""
    found = dict(commands_in(settings))
    for hook in hooks_of(client):
        command = found.get(hook.event)
        if command is None:
            yield f"The hook for {hook.event} is not installed."
        elif not runs(command):
            yield f"The hook for {hook.event} runs a program that is not there: {command}"


def _handlers(group: Any) -> list[Any]:
    handlers = value_in(group, "hooks")
    return handlers if isinstance(handlers, list) else []


def runs_ours(entry: Any) -> bool:
    """Check if a hook, or a status line, is a command of ours."""
    return is_ours(value_in(entry, "command"))


def _without_ours(group: Any) -> Any:
    """Return a group without our commands, or None if it had no others. A group without ours is returned as the
    same object."""
    handlers = _handlers(group)
    others = [each for each in handlers if not runs_ours(each)]
    if len(others) == len(handlers):
        return group
    return {**group, "hooks": others} if others else None


_NOTE: Final = "# Added by condense install; condense install --remove takes it out."


def tables_in(path: Path, text: str | None) -> dict[str, Any]:
    """Parse TOML. Raises UnreadableError."""
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as error:
        raise UnreadableError(f"{path} is not TOML: {error}.", "Nothing was written. Fix it first.") from error


def with_table(text: str, name: str, values: Mapping[str, str | list[str]]) -> str:
    """Add a table at the end of a TOML text. Strings, and lists of them, are spelled alike in JSON and TOML."""
    end = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return f"{text}{end}" + "\n".join([_NOTE, f"[{name}]", *lines, ""])


def without_table(text: str, name: str) -> str:
    """Remove a table, its sub-tables and our note from a TOML text; the rest keeps its characters."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            heading = line.strip().strip("[]").strip()
            inside = heading == name or heading.startswith(f"{name}.")
        if inside:
            continue
        if line.strip() == _NOTE:
            if kept and not kept[-1].strip():
                kept.pop()
            continue
        kept.append(line)
    return "".join(kept)


_FILE: Final = "installed.json"


class Exchanged(Struct, frozen=True):
    """A note of one edit: the hash of the text written, and the `old` characters that were replaced between `start`
    and `end` (counted from the end). `old` is None if there was no file."""

    written: str
    start: int = 0
    end: int = 0
    old: str | None = None

    @classmethod
    def of(cls, before: str | None, after: str) -> Exchanged:
        start = alike(before or "", after)
        rest = (before or "")[start:]
        end = alike(rest[::-1], after[start:][::-1])
        old = None if before is None else rest[: len(rest) - end]
        return cls(_hash(after), start, end, old)

    def before(self, written: str) -> str | None:
        """Return the text that was there before this one was written."""
        return None if self.old is None else written[: self.start] + self.old + written[len(written) - self.end :]


def note_edits(edits: Iterable[SettingsEdit], had_ours: Container[Path]) -> None:
    """Note the edits of an installation. A file that `had_ours`, but has no note, gets none."""
    known = _read_notes()
    for edit in edits:
        if edit.after is None:
            continue
        place = os.path.realpath(edit.path)
        found = _of(known, edit)
        if found is not None and edit.before is not None:
            known[place] = Exchanged.of(found.before(edit.before), edit.after)
        elif edit.path not in had_ours:
            known[place] = Exchanged.of(edit.before, edit.after)
        else:
            known.pop(place, None)
    _write_notes(known)


def given_back(plan: InstallPlan) -> InstallPlan:
    """Plan a removal in which files that nobody changed since get their old bytes back."""
    known = _read_notes()

    def edit(each: SettingsEdit) -> SettingsEdit:
        found = _of(known, each) if each.is_change else None
        return each if found is None else replace(each, after=found.before(each.before or ""))

    return replace(plan, edits=tuple(map(edit, plan.edits)))


def forget(edits: Iterable[SettingsEdit]) -> None:
    """Drop the notes of files that no longer hold anything of ours."""
    known = _read_notes()
    gone = {os.path.realpath(edit.path) for edit in edits}
    if gone & known.keys():
        _write_notes({place: found for place, found in known.items() if place not in gone})


def _of(known: dict[str, Exchanged], edit: SettingsEdit) -> Exchanged | None:
    found = known.get(os.path.realpath(edit.path))
    return found if found is not None and found.written == _hash(edit.before or "") else None


def alike(one: str, other: str) -> int:
    """Count the characters that two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (own, others) in pairs if own != others), min(len(one), len(other)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read_notes() -> dict[str, Exchanged]:
    try:
        return msgspec.json.decode((Path(cache_folder()) / _FILE).read_bytes(), type=dict[str, Exchanged])
    except (OSError, msgspec.MsgspecError):
        return {}


def _write_notes(known: dict[str, Exchanged]) -> None:
    """Save the notes. Without them a removal still works."""
    path = Path(cache_folder()) / _FILE
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        write_bytes(path, msgspec.json.encode(known))
