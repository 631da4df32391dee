"""The model of options: a class whose fields are options, each with its type, default, flag and help.

A command declares its options as such a class. Its flags, the groups of its help page, the arguments of the Python API
and the tables of the documentation are read from there. Nothing heavy is imported: help pages and shells use this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import isnan
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self, TypeVar, dataclass_transform, get_type_hints

from ..core.lazy_pattern import lazy_pattern
from ..core.wording import count_in, percent_in, quoted
from ..errors import UsageError

P = TypeVar("P", bound="Options")


class Flag(NamedTuple):
    """The flag of an option, or with `is_argument` a positional argument.

    `name` and `short` are spelled with their dashes; without `name` it is `--` and the field's name. `parse` makes the
    value of a text and raises ValueError. `complete` has the completions for a shell, or a function that lists them,
    alone or with a description each. `eager` gets the value before all others are read. These functions belong in a
    module: one that is written in an annotation sees no names. The option is in the `group`, or that of its class; a
    text behind the flag, as in `Annotated[Session, "Reading"]`, is another group.
    """

    help: str
    metavar: str | None = None
    short: str = ""
    name: str = ""
    group: str = ""
    parse: Callable[[str], Any] | None = None
    complete: Sequence[str] | Callable[[], Iterable[str | tuple[str, str]]] = ()
    least: int | None = None
    most: int | None = None
    is_hidden: bool = False
    is_argument: bool = False
    eager: Callable[[str | None], str | None] | None = None

    def names(self, field: str) -> list[str]:
        """Return its spellings on the command line."""
        return [self.name or f"--{field.replace('_', '-')}", *([self.short] if self.short else [])]


class OptionField(NamedTuple):
    """One option of a class: `kind` is its type without its flag."""

    name: str
    kind: Any
    flag: Flag
    default: Any
    group: str


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Options:
    """A frozen value whose annotated fields are options. `group` of a class is the title of its fields in a help page.

    A class has its own fields first, then those of its bases from left to right. Lists become tuples, and so does None
    if the default is one.
    """

    group: ClassVar[str] = ""

    def __init_subclass__(cls, *, group: str = "") -> None:
        cls.group = group

    def __init__(self, **given: Any) -> None:
        for name, (_, default) in _declared(type(self)).items():
            value = given.pop(name, default)
            if value is ...:
                raise TypeError(f"{type(self).__name__} needs {name}")
            is_list = isinstance(default, tuple) or isinstance(value, list)
            self.__dict__[name] = tuple(value or ()) if is_list else value
        if given:
            raise TypeError(f"{type(self).__name__} has no {', '.join(given)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def replace(self, **changed: Any) -> Self:
        """Return the same options with some changed."""
        return type(self)(**{**self.__dict__, **changed})

    def part(self, kind: type[P]) -> P:
        """Return the options of one of its bases alone."""
        return kind(**{name: self.__dict__[name] for name in _declared(kind)})


def _declared(kind: type[Options]) -> dict[str, tuple[type[Options], Any]]:
    """Return the class that declares each field, and its default: `...` for a field that must be given."""
    own = (name for name, annotation in kind.__annotations__.items() if not str(annotation).startswith("ClassVar"))
    found = {name: (kind, getattr(kind, name, ...)) for name in own}
    for base in kind.__bases__:
        if issubclass(base, Options):
            found |= {name: each for name, each in _declared(base).items() if name not in found}
    return found


def options_of(kind: type[Options]) -> list[OptionField]:
    """Return the options of a class, in order. The last flag and the last group in an annotation hold.

    Resolving the types takes a while: ask for the class in use only.
    """
    hints, found = get_type_hints(kind, include_extras=True), []
    for name, (owner, default) in _declared(kind).items():
        about = hints[name].__metadata__
        *_, flag = (each for each in about if isinstance(each, Flag))
        groups = (each if isinstance(each, str) else each.group for each in reversed(about))
        found.append(OptionField(name, hints[name].__origin__, flag, default, next(filter(None, groups), owner.group)))
    return found


def in_groups(options: Iterable[OptionField]) -> dict[str, list[OptionField]]:
    """Return options by the title of their group, in the order of a help page; "" has those without a group."""
    found: dict[str, list[OptionField]] = {COMMON: [], OUTPUT: []}
    for option in options:
        found.setdefault(option.group, []).append(option)
    return {title: each for title, each in found.items() if each}


def tokens(text: str, least: int = 1, hint: str = "") -> int:
    """Parse a number of tokens: 60000, 60,000, 60k, 1.5M. Raises ValueError."""
    number = count_in(text) if text == text.strip() else None
    if number is None or number < least:
        raise ValueError(f"{quoted(text)} is not a number of tokens. Write 60000, 60k or 1.5M{hint}.")
    return number


def target(text: str) -> int:
    """Parse a number of tokens. Raises ValueError, which points to the flag that takes a share."""
    return tokens(text, hint="; --target-percent takes a share")


def tokens_or_none(text: str) -> int:
    """Parse a number of tokens, or 0. Raises ValueError."""
    return tokens(text, least=0)


def percentage(text: str) -> float:
    """Parse a percentage: 40, 40% or 12.5. Raises ValueError."""
    percent = percent_in(text)
    try:
        return float(text) if percent is None else percent
    except ValueError:
        raise ValueError(f"{quoted(text)} is not a percentage. Write 40 or 40%.") from None


def threshold(text: str) -> float:
    """Parse a percentage from 5 to 100. Raises ValueError; "nan" is left to the check of all options."""
    percent = percentage(text)
    if not (5 <= percent <= 100 or isnan(percent)):
        raise ValueError(f"{text} is not in the range 5<=x<=100.")
    return percent


_SPAN: Final = lazy_pattern(r"\s*+([+-]?\d{1,9})?\s*+:\s*+([+-]?\d{1,9})?\s*+", re.ASCII)


class Span(NamedTuple):
    """Messages from `start` to before `end`, None for the last; negative numbers count from the end."""

    start: int
    end: int | None


def parse_range(text: str) -> Span:
    """Parse `A:B`, either of which may be missing or negative. Raises UsageError."""
    match = _SPAN.fullmatch(text)
    if not match:
        raise UsageError(
            f"--range needs A:B, not {quoted(text)}.",
            "Messages count from 0, negative ones from the end: 10:50, :50 or -20:",
        )
    start, end = (None if part is None else int(part) for part in match.groups())
    same_side = start is not None and end is not None and (start < 0) == (end < 0)
    if end == 0 or (same_side and start is not None and end is not None and start >= end):
        raise UsageError(f"--range {text.strip()} selects no message.", "B is excluded: 4:9 is messages 4 to 8.")
    return Span(start or 0, end)


COMMON: Final = "Common options"
OUTPUT: Final = "Output"
"""The first groups of a help page, whatever the order of the options."""

REMOVING: Final = "Removing more or less"


TargetTokens = Annotated[
    int | None, Flag("Cut down to N tokens (60000, 60k) and no further.", metavar="N", parse=target)
]
TargetPercent = Annotated[
    float | None, Flag("Cut down to P percent of the tokens (40, 40%).", metavar="P", parse=percentage)
]


class Overrides(Options, group=COMMON):
    """Options that change a configuration for one run. Without any, it stays as it is."""

    target_tokens: TargetTokens = None
    target_percent: TargetPercent = None
    keep: Annotated[
        tuple[str, ...],
        Flag(
            "Never cut these: 34 (a message), 12.0 (a block), 40:80, last:20, tool:Bash, file:'src/*.py', /regex/; "
            "may be repeated.",
            metavar="SELECTOR",
        ),
    ] = ()
    cut: Annotated[
        tuple[str, ...], Flag("Always cut these; written as for --keep; may be repeated.", metavar="SELECTOR")
    ] = ()
    must_keep: Annotated[tuple[str, ...], Flag("Strings of which each stays.", metavar="FILE")] = ()
    lossless_only: Annotated[
        bool, Flag("Cut nothing; only write references, which condense restore undoes.", group=REMOVING)
    ] = False
    keep_thinking: Annotated[bool, Flag("Keep old thinking, which goes by default.", group=REMOVING)] = False
    drop_thinking: Annotated[bool, Flag("Remove all thinking that the API does not require.", group=REMOVING)] = False
    keep_recent: Annotated[int | None, Flag("The same as --keep last:N.", metavar="N", least=0, is_hidden=True)] = None
    only_tools: Annotated[
        tuple[str, ...], Flag("Cut nothing but calls and results of these tools.", metavar="GLOB", is_hidden=True)
    ] = ()
    except_tools: Annotated[tuple[str, ...], Flag("The same as --keep tool:GLOB.", metavar="GLOB", is_hidden=True)] = ()
    range: Annotated[str | None, Flag("The same as --keep not:A:B.", metavar="A:B", is_hidden=True)] = None
    pins: Annotated[
        tuple[str, ...], Flag("The same as --keep /REGEX/.", metavar="REGEX", name="--pin", is_hidden=True)
    ] = ()

    @property
    def span(self) -> Span | None:
        """Return the messages that `range` names. Raises UsageError."""
        return None if self.range is None else parse_range(self.range)


NO_OVERRIDES: Final = Overrides()
