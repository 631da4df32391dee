"""Write docs/options.md from the classes of options: every flag, its variable and its argument in Python.

python docs/make_options.py
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import condense_cli
from condense_cli.cli.building import Command, CommandGroup
from condense_cli.cli.table import COMMANDS, options_of_command
from condense_cli.config.base import LIMITS
from condense_cli.config.options import OptionField, in_groups, options_of
from condense_cli.config.own import keys, variable_of

PAGE = Path(__file__).resolve().parent / "options.md"
HEAD = """<!-- This page is made by docs/make_options.py from the options of the commands. -->

# Options

All options by command; `condense COMMAND --help` shows the common ones, `--help-all` the rest, with examples. Options
of `run` that change a configuration are arguments of `condense_cli.overrides_from`, some others of
`condense_cli.condense` ([Python](api.md)). [Variables](configuration.md#variables) hold where no flag is given.
"""


def page() -> str:
    return "\n".join([HEAD, *(line for name in COMMANDS for line in _command(name))]).rstrip() + "\n"


def _command(name: str) -> Iterator[str]:
    found = options_of_command(name)
    yield from (f"## condense {name}", "", COMMANDS[name], "")
    if isinstance(found, CommandGroup):
        for own, kind in found.commands.items():
            yield from (f"### condense {name} {own}", "", *_table(kind))
    else:
        yield from _table(found)


def _table(kind: type[Command]) -> Iterator[str]:
    listed = [option for option in options_of(kind) if not (option.flag.is_argument or option.flag.is_hidden)]
    shown = [option for group in in_groups(listed).values() for option in group]
    is_run = kind.work == "run.run"
    if shown:
        yield f"| option | meaning |{' variable | Python |' if is_run else ''}"
        yield f"| --- | --- |{' --- | --- |' if is_run else ''}"
    for option in shown:
        flags = ", ".join(f"`{flag}`" for flag in reversed(option.flag.names(option.name)))
        metavar = f" {option.flag.metavar}" if option.flag.metavar else ""
        meaning = " ".join(option.flag.help.split()).replace("|", "\\|").replace("*", "\\*")
        yield f"| {flags}{metavar.replace('|', chr(92) + '|')} | {meaning} |" + (_beside(option) if is_run else "")
    yield ""


def _beside(option: OptionField) -> str:
    """Return the cells of an option of `run` for its variable and its argument."""
    key = option.flag.names(option.name)[0].removeprefix("--").replace("-", "_")
    variable = f"`{variable_of(key)}`" if key in (*keys(), *LIMITS) else ""
    functions = [
        f"`{function.__name__}`"
        for function in (condense_cli.condense, condense_cli.overrides_from)
        if option.name in inspect.signature(function).parameters
    ]
    return f" {variable} | {', '.join(functions)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
