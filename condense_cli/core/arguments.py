"""Check arguments of the Python API on entry. A wrong one raises UsageError with a hint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
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
    """Condition on an argument, with the hint for a value that fails it. `reads` parses text into a number, or returns
    None.
    """

    fits: Callable[[Any], bool]
    hint: str
    reads: Callable[[str], Any] = lambda text: None


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def is_share(value: Any) -> bool:
    """Return whether the value is a number strictly between 0 and 1."""
    return is_number(value) and 0 < value < 1


def is_integer(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _are(values: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(values, Sequence | Set) and not isinstance(values, str | bytes) and all(map(fits, values))


def having(names: str, hint: str) -> ArgumentKind:
    """Accept values with all these methods; `names` are separated by blanks."""
    return ArgumentKind(lambda value: all(callable(getattr(value, name, None)) for name in names.split()), hint)


def made_by(name: str, how: str) -> ArgumentKind:
    """Accept instances of the class with this name, or of its subclasses, without importing it."""
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
    """Return `given` if it is a Transcript. Raises UsageError that names the function which makes one of it."""
    from .transcript import Transcript  # Importing this module alone must not load the structs.

    if isinstance(given, Transcript):
        return given
    match given:
        case _ if isinstance(given, str) or hasattr(given, "__fspath__"):
            hint = f"condense_cli.load({str(given)[:60]!r}) reads a file, condense_cli.loads(text) its content."
        case bytes() | bytearray():
            hint = "condense_cli.loads(data) reads the bytes of a file."
        case Mapping():
            hint = "Give the list of its messages, or condense_cli.loads(messages)."
        case _ if isinstance(getattr(given, "transcript", None), Transcript):
            hint = "Give its .transcript."
        case _:
            hint = "condense_cli.load(path) reads a file, condense_cli.loads(messages) a list of messages."
    raise UsageError(f"A transcript is needed, not a {type(given).__name__}.", hint)


def with_arguments(
    others: Mapping[str, str] = MappingProxyType({}), /, **kinds: ArgumentKind
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Decorate a function to raise UsageError, never TypeError, for wrong, unknown or missing arguments.

    None is accepted where it is the default. `others` maps names of arguments that belong elsewhere to a hint, in which
    `{}` is the given value.
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
                    own = ", ".join(name for name in names if name != "self")
                    hint = f"Did you mean {near}?" if near else f"Its arguments: {own}."
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


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({type(value).__name__})"


def as_json(value: Any) -> Any:
    """Convert an SDK object into the JSON that is sent back, without fields its answer left unset.

    Raises UsageError for anything else.
    """
    if any(each.__name__ == "BaseMessage" and each.__module__.startswith("langchain") for each in type(value).__mro__):
        # The arguments of its constructor do not include the role.
        raise UsageError(
            f"A message is a {type(value).__name__} of LangChain.",
            "Use loads(convert_to_openai_messages(messages)), and convert_to_messages(dump_messages(result)) after.",
        )
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    raise UsageError(f"A message holds a {type(value).__name__}, which is not JSON.", "Give dicts, lists and strings.")
