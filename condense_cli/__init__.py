"""Shrink transcripts of language-model agents and keep what the work needs.

    import condense_cli

    transcript = condense_cli.load("session.jsonl")
    result = condense_cli.condense(transcript, preset="cost")
    smaller = condense_cli.dump(result)  # bytes in the format of the input

Names are imported on first use, so that importing the package is cheap.
"""

from __future__ import annotations

TYPE_CHECKING = False  # Type checkers read it as true. Importing `typing` takes a sixth of a hook's time.

__all__ = [
    "Condensation", "CondensationManager", "Condenser", "Configuration", "Conversion", "Diff", "Live", "Managed",
    "Restoration", "Transcript", "__version__", "compare", "condense", "convert", "diff", "dump", "dump_messages",
    "estimate", "evaluate", "judge_recorded", "load", "loads", "overrides_from", "recap", "restore",
]  # fmt: skip

if TYPE_CHECKING:
    from typing import Any

    from .api import Restoration, condense, convert, diff, dump, dump_messages, load, loads, overrides_from, restore
    from .api.comparing import compare
    from .api.estimating import estimate
    from .api.evaluating import evaluate, judge_recorded
    from .config.models import Configuration
    from .core.transcript import Transcript
    from .core.version import __version__
    from .formats.convert import Conversion
    from .ledger.recap import recap
    from .live.conversation import Live
    from .live.managing import CondensationManager, Managed
    from .passes.condensation import Condensation
    from .report.difference import Diff
    from .rows.condenser import Condenser

_HOMES = {
    "__version__": ".core.version",
    "compare": ".api.comparing",
    "estimate": ".api.estimating",
    "evaluate": ".api.evaluating",
    "judge_recorded": ".api.evaluating",
    "CondensationManager": ".live.managing",
    "Managed": ".live.managing",
    "Condenser": ".rows.condenser",
    "Conversion": ".formats.convert",
    "Diff": ".report.difference",
    "Live": ".live.conversation",
    "recap": ".ledger.recap",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, ".api"), __name__), name)
