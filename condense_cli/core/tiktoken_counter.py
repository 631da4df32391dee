"""Counting with tiktoken, OpenAI's own tokenizer, by what is on this machine: nothing is ever downloaded.

tiktoken comes without vocabularies and downloads each when it is first used, without a timeout. So its own code for
reading them (tiktoken/load.py, tiktoken_ext/openai_public.py) runs here as a copy in which one function is another:
the one that gives the bytes of a file. Those of o200k and cl100k are spelled again from the tokens of the installed
counter, those of older encodings come from tiktoken's cache, and each counts only if its SHA-256 is the one that
tiktoken expects.
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
from typing import TYPE_CHECKING, Any, Final

from ..errors import UsageError

if TYPE_CHECKING:
    import tiktoken

_RANKS: Final = {"o200k_base": 199_998, "cl100k_base": 100_256}
"""How many byte-pair tokens these encodings have; special tokens come above them."""

_SPLITTABLE: Final = 131_072
"""Characters that tiktoken splits at once. In a longer text without a break its engine for patterns runs out of stack
on blanks (at some 400,000) and panics; chunks of other texts are half as long."""


class _MissingError(Exception):
    """A vocabulary is not on this machine, or not the one that tiktoken expects."""


def encoding_of(model: str) -> str | None:
    """The encoding of a model by tiktoken's own table; None where that does not know it."""
    from tiktoken.model import encoding_name_for_model

    try:
        return encoding_name_for_model(model)
    except KeyError:
        return None


def is_here(encoding: str) -> bool:
    """Whether this machine has the vocabulary of an encoding."""
    return _encoding(encoding) is not None


def counter_of(encoding: str) -> Callable[[str], int]:
    """What counts a text in an encoding. Special tokens spelled out in it count as ordinary text.

    Raises UsageError where the vocabulary is not on this machine.
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
        import regex  # slower than tiktoken's engine, without its limit

        return sum(len(own._encode_single_piece(piece)) for piece in regex.findall(own._pat_str, text))

    return count


@cache
def _encoding(name: str) -> tiktoken.Encoding | None:
    """An encoding as tiktoken defines it, None where its vocabulary is missing here or tiktoken does not know it."""
    import tiktoken

    reading, definitions = _copy_of("tiktoken.load"), _copy_of("tiktoken_ext.openai_public")
    # Where these names are not what a later version reads with, what is put in their place would not be asked.
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
    """A module once more: what is replaced in this one stays as it is for everybody else who uses it."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _file(url: str, expected_hash: str | None = None) -> bytes:
    """The bytes of the file that tiktoken would download. Raises _MissingError."""
    for found in (_respelled, _cached):
        data = found(url)
        if data is not None and hashlib.sha256(data).hexdigest() == expected_hash:
            return data
    raise _MissingError(url)


def _respelled(url: str) -> bytes | None:
    """The file of an encoding, a token and its rank in each line, from the tokens of the installed counter."""
    name = url.rpartition("/")[2].removesuffix(".tiktoken")
    if name not in _RANKS:
        return None
    import splintr

    token = splintr.Tokenizer.from_pretrained(name).decode_token_bytes
    return b"".join(base64.b64encode(bytes(token(rank))) + b" %d\n" % rank for rank in range(_RANKS[name]))


def _cached(url: str) -> bytes | None:
    """The file in tiktoken's cache, found as tiktoken/load.py finds it; an empty name means that there is no cache."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    if not folder:
        return None
    try:
        return Path(folder, hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()).read_bytes()
    except (OSError, ValueError):  # ValueError: the name of the folder cannot be one.
        return None
