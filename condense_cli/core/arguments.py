"""Arguments of the Python API, checked where they come in: what is wrong with one is said in a sentence with a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, ParamSpec, TypeGuard, TypeVar

from ..errors import UsageError
from .wording import count_in, nearest, percent_in

if TYPE_CHECKING:
    from .transcript import Transcript

_P = ParamSpec("_P")
_R = TypeVar("_R")
_SHOWN: Final = 40


class ArgumentKind(NamedTuple):
    """What an argument has to be, and what to do where it is not. `reads` makes a number of a text, or None."""

    fits: Callable[[Any], bool]
    hint: str
    reads: Callable[[str], Any] = lambda text: None


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def is_share(value: Any) -> bool:
    """Whether it is a part of something: neither nothing nor all of it."""
    return is_number(value) and 0 < value < 1


def is_integer(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _are(values: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(values, Sequence | Set) and not isinstance(values, str | bytes) and all(map(fits, values))


def having(names: str, hint: str) -> ArgumentKind:
    """A value with all these methods."""
    return ArgumentKind(lambda value: all(callable(getattr(value, name, None)) for name in names.split()), hint)


def made_by(name: str, how: str) -> ArgumentKind:
    """A value of the class of that name, which is not imported for it."""
    return ArgumentKind(lambda value: any(each.__name__ == name for each in type(value).__mro__), how)


TEXT: Final = ArgumentKind(lambda value: isinstance(value, str), "Give a text.")
PATH: Final = ArgumentKind(
    lambda value: isinstance(value, str) or hasattr(value, "__fspath__"), "Give a path, as a text or a Path."
)
PRESET: Final = ArgumentKind(PATH.fits, "Give the name of a preset, such as 'balanced', or the path of a file.")
COUNT: Final = ArgumentKind(
    lambda value: is_integer(value) and value >= 0, "Give a whole number from 0, or a text such as 60k.", count_in
)
POSITIVE: Final = ArgumentKind(
    lambda value: is_integer(value) and value >= 1, "Give a whole number from 1, or a text such as 60k.", count_in
)
NUMBER: Final = ArgumentKind(lambda value: is_number(value) and value >= 0, "Give a number from 0.")
PERCENT: Final = ArgumentKind(
    lambda value: is_number(value) and value >= 0, "Give a percentage, such as 50 or '50%'.", percent_in
)
COUNTER: Final = ArgumentKind(lambda value: value in ("built-in", "tiktoken"), "Choose built-in or tiktoken.")
TEXTS: Final = ArgumentKind(lambda value: _are(value, TEXT.fits), "Give a list of texts.")
SHARES: Final = ArgumentKind(
    lambda value: _are(value, is_share), "Give a list of shares between 0 and 1, such as [0.5, 0.3]."
)
TRANSCRIPTS: Final = ArgumentKind(lambda value: _are(value, lambda each: True), "Give a list of transcripts.")
CONFIGURATIONS: Final = ArgumentKind(
    lambda value: (
        isinstance(value, Mapping)
        and all(map(TEXT.fits, value))
        and all(map(made_by("Configuration", "").fits, value.values()))
    ),
    "Give a dict from names to Configurations.",
)
SELECTORS: Final = ArgumentKind(
    lambda value: isinstance(value, Mapping) and all(map(TEXT.fits, value)) and all(map(callable, value.values())),
    "Give a dict from names to functions of a message and a block.",
)
CALLABLE: Final = ArgumentKind(callable, "Give a function.")
SUMMARIZER: Final = having("summarize", "Give an object with summarize(tasks, messages).")
SUMMARIZERS: Final = ArgumentKind(
    lambda value: isinstance(value, Mapping) and all(map(SUMMARIZER.fits, value.values())),
    "Give a dict from names to objects with summarize(tasks, messages).",
)


def a_transcript(given: Any) -> Transcript:
    """What was given; it has to be a transcript. Raises UsageError; a path, or messages, is what one tries first."""
    from .transcript import Transcript  # Whoever only imports this module pays for no structs.

    if isinstance(given, Transcript):
        return given
    has_one = isinstance(getattr(given, "transcript", None), Transcript)
    raise UsageError(
        f"A transcript is needed, not a {type(given).__name__}.",
        "Give its .transcript." if has_one else "load(path) reads a file, loads(messages) a list of messages.",
    )


def with_arguments(
    others: Mapping[str, str] = MappingProxyType({}), /, **kinds: ArgumentKind
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """A function that refuses arguments that are not of their kinds, that it has not, or that are missing.

    None is taken where it is the default. `others` are names that it has not, and hints where these belong, with `{}`
    for the value. Raises UsageError in place of TypeError.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        code = function.__code__
        positional = code.co_varnames[: code.co_argcount]
        names = (*positional, *code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
        defaults = dict(zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False))
        defaults.update(function.__kwdefaults__ or {})
        called = function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if len(args) > len(positional):
                raise UsageError(f"{called} takes no positional argument after {positional[-1]}.", "Give its name.")
            given = {**dict(zip(positional, args, strict=False)), **kwargs}
            read = {
                name: number
                for name, value in given.items()
                if isinstance(value, str) and name in kinds and (number := kinds[name].reads(value)) is not None
            }
            for name, value in {**given, **read}.items():
                if name not in names:
                    near = nearest(name, names)
                    hint = f"Did you mean {near}?" if near else f"Its arguments: {', '.join(_shown(names))}."
                    hint = others[name].format(_short(value)) if name in others else hint
                    raise UsageError(f"{called} has no argument {name!r}.", hint)
                kind = kinds.get(name)
                is_default = value is None and name in defaults and defaults[name] is None
                if kind is not None and not is_default and not kind.fits(value):
                    raise UsageError(f"{name} cannot be {_short(value)}.", kind.hint)
            missing = [name for name in names if name not in given and name not in defaults]
            if missing:
                raise UsageError(f"{called} needs {', '.join(missing)}.", "It has no default.")
            if read:
                return function(**{**given, **read})  # type: ignore[call-arg]
            return function(*args, **kwargs)

        return call

    return decorate


def _shown(names: Iterable[str]) -> Iterable[str]:
    return (name for name in names if name != "self")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({type(value).__name__})"


def as_json(value: Any) -> Any:
    """An object of an SDK, as it is sent back: without what its answer did not hold."""
    if any(each.__name__ == "BaseMessage" and each.__module__.startswith("langchain") for each in type(value).__mro__):
        # What it was made with does not say who speaks.
        raise UsageError(
            f"A message is a {type(value).__name__} of LangChain.",
            "Use loads(convert_to_openai_messages(messages)), and convert_to_messages(dump_messages(result)) after.",
        )
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    raise UsageError(f"A message holds a {type(value).__name__}, which is not JSON.", "Give dicts, lists and strings.")
