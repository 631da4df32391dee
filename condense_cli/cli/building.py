"""Build the commands of Typer from classes of options, with help pages in groups and hints for mistyped names."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final, NamedTuple, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from ..config.options import COMMON, OUTPUT, OptionField, Options, in_groups, options_of
from ..core.wording import nearest, quoted
from .console import exits

_OTHER_WORDS: Final = {
    "run": "compact compress condense cut prune reduce shrink summarize trim",
    "restore": "decompress expand uncompress unpack",
    "undo": "backup revert rollback",
    "sessions": "list ls",
    "inspect": "analyse analyze breakdown info stats tokens usage",
    "show": "cat get open print view",
    "diff": "changes compare",
    "estimate": "cost preview price savings",
    "check": "needed status",
    "validate": "lint verify",
    "evaluate": "bench benchmark eval measure quality score",
    "proxy": "gateway serve server",
    "install": "hooks setup",
    "config": "configuration configure settings",
    "presets": "preset templates",
    "providers": "provider strategies",
    "profiles": "model models profile",
}
"""Other words for commands."""

MORE_EXAMPLES: Final = "\nMore examples:"
"""The heading in a docstring from which only `--help-all` shows it."""

_MOST_OPTIONS: Final = 15
"""A help page with more options shows the common ones; `--help-all` shows the others too."""


class Command(Options):
    """The options of a command; the docstring is its help page.

    `work` names the function that takes them, as a module of `cli.work` and a name in it. It is imported when the
    command runs: nothing heavy is loaded for a help page. `gone` says what replaces options of the version before.
    """

    work: ClassVar[str]
    gone: ClassVar[Mapping[str, str]]

    def __init_subclass__(cls, *, group: str = "", work: str = "", gone: Mapping[str, str] | None = None) -> None:
        super().__init_subclass__(group=group)
        cls.work, cls.gone = work, gone or {}

    @classmethod
    def prepared(cls, arguments: list[str]) -> list[str]:
        """Return the arguments of the command line as they are to be parsed."""
        return arguments


class CommandGroup(NamedTuple):
    """Commands about one subject, like those of `condense presets`.

    Without a command `default` runs. `names` are the arguments of its `show`, for a hint if a name is in the place of a
    command.
    """

    help: str
    examples: str
    commands: Mapping[str, type[Command]]
    default: str | None = None
    names: Callable[[], Iterable[str]] = tuple


def add_command(holder: typer.Typer, name: str, kind: type[Command], short_help: str = "") -> None:
    """Add a command. `short_help` is its help where Python runs without docstrings."""
    fields = options_of(kind)

    def call(**given: Any) -> None:
        with exits():
            file, _, function = kind.work.rpartition(".")
            getattr(import_module(f".work.{file}", __package__), function)(kind(**given))

    parameters = [_parameter(field) for field in fields]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    page = type(kind.__name__, (_Page,), {"fields": fields, "kind": kind})
    holder.command(name, cls=page, help=inspect.cleandoc(kind.__doc__ or short_help))(call)


def group_of(group: CommandGroup) -> typer.Typer:
    """Return a group with its commands."""

    class Group(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.params.append(help_all("The same as --help.", is_hidden=True))

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            is_completed = ctx.resilient_parsing  # By a shell, which has to offer the commands.
            if group.default and not is_completed and args in ([], ["--json"]):
                args = [group.default, *args]
            return super().parse_args(ctx, args)

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            first = args[0]
            is_completed = ctx.resilient_parsing  # By a shell, which wants no errors.
            if first not in self.commands and not is_completed and first in group.names():
                ctx.fail(f"No such command {quoted(first)}. Did you mean '{ctx.command_path} show {first}'?")
            return super().resolve_command(ctx, args)

    holder = typer.Typer(
        cls=Group,
        help=group.help,
        epilog=f"Examples:\n\n\b\n{group.examples}",
        no_args_is_help=group.default is None,
        rich_markup_mode=None,
    )
    for name, kind in group.commands.items():
        add_command(holder, name, kind)
    return holder


def _parameter(field: OptionField) -> inspect.Parameter:
    """Return an option as Typer takes it: a parameter of a function."""
    flag, default, kind = field.flag, field.default, field.kind
    lists = [each for each in (kind, *get_args(kind)) if get_origin(each) is tuple]
    if lists and flag.parse:  # The whole list is in one value.
        kind, default = str | None, None
    elif lists:
        item = get_args(lists[0])[0]
        kind, default = (list[item], ...) if default is ... else (list[item] | None, None)  # type: ignore[valid-type]
    settings: dict[str, Any] = {
        "help": flag.help,
        "metavar": flag.metavar,
        "hidden": flag.is_hidden,
        "min": flag.least,
        "max": flag.most,
        "parser": _parser(flag.parse) if flag.parse else None,
        "autocompletion": (
            flag.complete if callable(flag.complete) else (lambda: [*flag.complete]) if flag.complete else None
        ),
        "callback": flag.eager,
    }
    if flag.is_argument:
        about: Any = typer.Argument(**settings)
    else:
        about = typer.Option(*flag.names(field.name), is_eager=flag.eager is not None, **settings)
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is ... else default,
        annotation=Annotated[kind, about],
    )


def _parser(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parsed


class _Page(TyperCommand):
    """A command whose help page has its options in groups, a long page only the common ones."""

    fields: ClassVar[list[OptionField]] = []
    kind: ClassVar[type[Command]] = Command

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.listed = [field for field in self.fields if not (field.flag.is_hidden or field.flag.is_argument)]
        self.is_long = len(self.listed) > _MOST_OPTIONS
        self.params.append(help_all(f"Show all {len(self.listed)} options.", is_hidden=not self.is_long))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = next((name for arg in args if (name := arg.partition("=")[0]) in self.kind.gone), None)
        if named is not None and not ctx.resilient_parsing:
            ctx.fail(f"{named} is gone. {self.kind.gone[named]}")
        try:
            return super().parse_args(ctx, self.kind.prepared(args))
        except Exception as error:
            # The class of the error belongs to a private module of Typer. Old names of options are not suggested.
            if getattr(error, "possibilities", None):
                shown = {name for field in self.listed for name in field.flag.names(field.name)}
                error.possibilities = [each for each in error.possibilities if each in shown]  # type: ignore[attr-defined]
            raise

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        whole = self.help or ""
        self.help = whole if shows_all(ctx) else whole.partition(MORE_EXAMPLES)[0]
        super().format_help_text(ctx, formatter)
        self.help = whole

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records = {str(param.name): param.get_help_record(ctx) for param in self.get_params(ctx)}
        sections = {"Arguments": [field.name for field in self.fields if field.flag.is_argument]}
        for title, fields in in_groups(self.listed).items():
            if not self.is_long or shows_all(ctx) or title in (COMMON, OUTPUT, ""):
                sections[title] = [field.name for field in fields]
        rest = [*sections.pop("", []), "help_all", "help"]
        sections["Other options" if len(sections) > 1 else "Options"] = rest
        for title, names in sections.items():
            shown = [record for name in names if (record := records.get(name))]
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)


_ALL: Final = "condense.help_all"


def help_all(about: str, *, is_hidden: bool = False) -> TyperOption:
    """Return the option `--help-all`: the help page with everything in it."""

    def show(ctx: Any, param: Any, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[_ALL] = True
            typer.echo(ctx.get_help())
            ctx.exit()

    return TyperOption(
        param_decls=["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help=about,
        hidden=is_hidden,
    )


def shows_all(ctx: Any) -> bool:
    """Return whether a help page is asked for with everything in it."""
    return _ALL in ctx.meta


def instead_of(name: str, known: Collection[str]) -> str:
    """Return a hint for a command that is not among the known ones."""
    if os.path.exists(name) or name == "-" or "/" in name or "." in name:
        return f"{quoted(name)} is not a command. Did you mean: condense run {name}"
    meant = next((command for command, words in _OTHER_WORDS.items() if name.lower() in words.split()), None)
    meant = meant if meant in known else nearest(name.lower(), known)
    if meant:
        return f"There is no command {quoted(name)}. Did you mean: condense {meant}"
    return f"There is no command {quoted(name)}. condense --help lists them."
