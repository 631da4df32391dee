"""Loops over arrays: plain Python that Cython compiles where a compiler is at hand, with the same results either way.

Beside each module a file `.pxd` has the types of its variables. Integers have 64 bits there and wrap around silently,
so no intermediate value may need more. Modules here import nothing of this package.
"""

from __future__ import annotations

from . import tokens


def is_compiled() -> bool:
    """Return whether the modules here are compiled."""
    return tokens.IS_COMPILED
