"""Loops over arrays: plain Python that Cython compiles where a compiler is at hand, with the same results either way.

Beside each module a file `.pxd` has the types of its variables. Integers have 64 bits there and wrap around silently,
so no intermediate value may need more; a difference of two elements of an unsigned array wraps around at zero, and an
index below zero reads foreign memory. Modules here import nothing of this package.
"""

from __future__ import annotations

from .tokens import IS_COMPILED

__all__ = ["IS_COMPILED"]
