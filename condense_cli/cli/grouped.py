"""Options in groups: a command takes a few values that travel whole, and Typer sees every option."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is annotated with a NamedTuple spread out to the options that it holds.

    A field of the tuple is an option as a parameter of a command is one: annotated for Typer, with its default. All
    other parameters are options of their own. A lambda in an annotation of a tuple would see no names of its module.
    """
    options: dict[str, inspect.Parameter] = {}
    groups: dict[str, Any] = {}
    module = vars(sys.modules[command.__module__])
    for name, parameter in inspect.signature(command).parameters.items():
        kind = module.get(parameter.annotation)
        if kind is None or not hasattr(kind, "_field_defaults"):
            annotation = get_type_hints(command, include_extras=True)[name]
            options[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
            continue
        groups[name] = kind
        for field, annotation in get_type_hints(kind, include_extras=True).items():
            options[field] = inspect.Parameter(
                field, inspect.Parameter.KEYWORD_ONLY, default=kind._field_defaults[field], annotation=annotation
            )

    @wraps(command)
    def spread(**given: Any) -> None:
        whole = {name: kind(**{field: given.pop(field) for field in kind._fields}) for name, kind in groups.items()}
        command(**whole, **given)

    spread.__signature__ = inspect.Signature([*options.values()])  # type: ignore[attr-defined]
    spread.__annotations__ = {name: parameter.annotation for name, parameter in options.items()}
    return spread
