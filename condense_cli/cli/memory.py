"""How the memory of this process goes back to the system."""

from __future__ import annotations

from typing import Final

_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 1_000_000


def give_back_large_blocks() -> None:
    """Have the C library take blocks of a megabyte from the system one by one and give each back once it is freed.

    Left alone, glibc takes the size of the first large block that is freed for one that comes and goes, and puts later
    ones into its heap, where the holes between them are never given back: a fifth of what a run on 50 MB takes. See
    M_MMAP_THRESHOLD in mallopt(3). Other C libraries have no such setting. This is for a whole process to decide, so
    the Python API leaves it alone.
    """
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (TypeError, OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, _LARGE)
