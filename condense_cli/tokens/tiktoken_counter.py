"""Count with tiktoken, OpenAI's tokenizer, from local files only.

tiktoken ships no vocabularies and downloads each on first use, without a timeout. So we run a copy of its reading code
(tiktoken/load.py, tiktoken_ext/openai_public.py) with one function replaced: the one that returns a file's bytes. We
rebuild the files of o200k and cl100k from the installed counter's tokens and take those of older encodings from
tiktoken's cache. Each is used only if it has the SHA-256 that tiktoken expects.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any, Final

import regex
import splintr
import tiktoken
from tiktoken.model import encoding_name_for_model

from ..errors import UsageError

_RANKS: Final = {"o200k_base": 199_998, "cl100k_base": 100_256}
"""Number of byte-pair tokens per encoding; special tokens have higher ranks."""

_SPLITTABLE: Final = 131_072
"""Characters that tiktoken may split at once. On longer runs of blanks (some 400,000) its pattern engine exhausts the
stack and panics. Our chunks of other texts are half as long.
"""


class _MissingError(Exception):
    """The vocabulary is missing on this machine or differs from the one tiktoken expects."""


def encoding_of(model: str) -> str | None:
    """Look up the model's encoding in tiktoken's table. None if it is not there."""
    try:
        return encoding_name_for_model(model)
    except KeyError:
        return None


def is_here(encoding: str) -> bool:
    """Return whether the encoding's vocabulary is on this machine."""
    return _encoding(encoding) is not None


def counter_of(encoding: str) -> Callable[[str], int]:
    """Return a function that counts a text's tokens. Special tokens in the text count as ordinary text.

    Raises UsageError if the vocabulary is not on this machine.
    """
    own = _encoding(encoding)
    if own is None:
        raise UsageError(
            f"tiktoken cannot count with {encoding}: its vocabulary is not on this machine.",
            "Count without --counter tiktoken, or fill tiktoken's cache and point TIKTOKEN_CACHE_DIR to it.",
        )

    def count(text: str) -> int:
        if len(text) <= _SPLITTABLE:
            return len(own.encode_ordinary(text))
        # The package `regex` is slower than tiktoken's engine, but has no limit.
        return sum(len(own._encode_single_piece(piece)) for piece in regex.findall(own._pat_str, text))

    return count


@cache
def _encoding(name: str) -> tiktoken.Encoding | None:
    """Build an encoding as tiktoken defines it. None if its vocabulary is missing or tiktoken does not know it."""
    reading, definitions = _copy_of("tiktoken.load"), _copy_of("tiktoken_ext.openai_public")
    # A later version may no longer read with these functions, so replacing them would have no effect.
    if not hasattr(reading, "read_file_cached") or name not in definitions.ENCODING_CONSTRUCTORS:
        return None
    reading.read_file_cached = _file
    for reader in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        if not hasattr(definitions, reader):
            return None
        setattr(definitions, reader, getattr(reading, reader))
    try:
        return tiktoken.Encoding(**definitions.ENCODING_CONSTRUCTORS[name]())
    except _MissingError:
        return None


def _copy_of(name: str) -> Any:
    """Load a second copy of a module, so that patching it affects nobody else."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _file(url: str, expected_hash: str | None = None) -> bytes:
    """Return the bytes that tiktoken would download. Raises _MissingError."""
    for found in (_rebuilt, _cached):
        data = found(url)
        if data is not None and hashlib.sha256(data).hexdigest() == expected_hash:
            return data
    raise _MissingError(url)


def _rebuilt(url: str) -> bytes | None:
    """Rebuild an encoding's file (a token and its rank per line) from the installed counter's tokens."""
    name = url.rpartition("/")[2].removesuffix(".tiktoken")
    if name not in _RANKS:
        return None
    token = splintr.Tokenizer.from_pretrained(name).decode_token_bytes
    return b"".join(base64.b64encode(bytes(token(rank))) + b" %d\n" % rank for rank in range(_RANKS[name]))


def _cached(url: str) -> bytes | None:
    """Read the file from tiktoken's cache, located as in tiktoken/load.py. An empty folder name disables the cache."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    if not folder:
        return None
    try:
        return Path(folder, hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()).read_bytes()
    except (OSError, ValueError):  # ValueError: invalid folder name.
        return None
