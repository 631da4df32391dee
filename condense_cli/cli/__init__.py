"""The command `condense`."""

from __future__ import annotations

import sys

ANYWHERE = ("--no-color", "--debug")
"""Options of the program that are allowed anywhere on the command line."""


def main() -> None:
    """Entry point of the command."""
    if sys.argv[1:2] == ["hook"]:
        from ..clients.hooks import run  # Clients wait for it: nothing of the command line is loaded.

        run(sys.argv[2:])
        return
    import gc

    # A run makes many objects and no circles worth collecting: looking for them costs a tenth of its time.
    gc.disable()
    try:
        from ..core.postponed import OF_TYPER, postponed

        with postponed(OF_TYPER):
            from .table import app
        from .console import exits, prepare_process

        prepare_process()
        arguments = sys.argv[1:]
        end = arguments.index("--") if "--" in arguments else len(arguments)
        # The sort is stable: the rest stays in its order.
        options = sorted(arguments[:end], key=lambda argument: argument not in ANYWHERE)
        with exits():
            app(options + arguments[end:])
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()  # Python looks for circles all the same when it ends: another tenth, not among what is frozen.
