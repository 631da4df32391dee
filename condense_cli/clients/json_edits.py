"""Change values in a JSON text and keep every other character.

`core.json_text` replaces values; here members and elements also come and go, laid out like their neighbours.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.json_text import key_at, next_member, scan, skip

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
    if isinstance(before, dict) and isinstance(after, dict):
        found, tail = _members(text)
        new, tail = _new_member(found, tail, layout, margin)
        last = {member.name: member for member in found}  # If a key is doubled, the last one counts.
        members = [
            _with(member, before[member.name], after[member.name], layout) if member is last[member.name] else member
            for member in found
            if member.name in after
        ]
        members += [
            replace(new, key=f"{layout.dump(key)}:{layout.space}", text=layout.dump(value, new.margin))
            for key, value in after.items()
            if key not in before
        ]
        return _joined("{}", found, members, tail)
    if isinstance(before, list) and isinstance(after, list):
        found, tail = _members(text)
        new, tail = _new_member(found, tail, layout, margin)
        places = {id(value): place for place, value in enumerate(before)}
        stay = {places[id(value)] for value in after if id(value) in places}
        members = []
        for number, value in enumerate(after):
            place = places.get(id(value), number)
            if id(value) in places or (place < len(before) and place not in stay):
                members.append(_with(found[place], before[place], value, layout))
            else:
                members.append(replace(new, text=layout.dump(value, new.margin)))
        return _joined("[]", found, members, tail)
    return layout.dump(after, margin)


def _with(member: _Member, before: Any, after: Any, layout: JsonLayout) -> _Member:
    return replace(member, text=_value(member.text, before, after, layout, member.margin))


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
