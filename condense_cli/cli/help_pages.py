"""Help that a person can read: options in named groups, and what is meant by a command that does not exist."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final

from typer.core import TyperCommand

from ..core.wording import nearest, quoted

Groups = Mapping[str, tuple[str, ...]]
"""Titles, and the names of the options below each."""

BEGIN: Final = (
    "condense run FILE                              what would be cut, and why\n"
    "condense run --session latest --new-session    a smaller copy to resume\n"
    "condense --help                                all commands"
)
"""What the bare command says."""

_MEANT: Final = {
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


class InGroups(TyperCommand):
    """A command whose help page has its options in `groups`; those in none of them come last."""

    groups: ClassVar[Groups] = {}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        arguments = [param.name for param in self.get_params(ctx) if param.param_type_name == "argument"]
        named = {name for names in self.groups.values() for name in names}
        rest = tuple(name for name in records if name not in named and name not in arguments)
        for title, names in {"Arguments": arguments, **self.groups, "Other options": rest}.items():
            shown = [record for name in names if (record := records.get(name))]
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)


def instead_of(name: str, known: Collection[str]) -> str:
    """What to say to somebody who called a command that is not among the known ones."""
    if os.path.exists(name) or name == "-" or "/" in name or "." in name:
        return f"{quoted(name)} is not a command. Did you mean: condense run {name}"
    meant = next((command for command, words in _MEANT.items() if name.lower() in words.split()), None)
    meant = meant if meant in known else nearest(name.lower(), known)
    if meant:
        return f"There is no command {quoted(name)}. Did you mean: condense {meant}"
    return f"There is no command {quoted(name)}. condense --help lists them."
