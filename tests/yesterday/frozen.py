"""The list of what a version froze, and what is asked of each file: the same at freezing and ever after."""

import json
import re
import shutil
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.errors import CondenseError
from condense_cli.report.inspection.lookup import HitKind, find
from condense_cli.report.lists.validation import check
from condense_cli.storage.files import unpacked

HERE: Final = Path(__file__).resolve().parent
MANIFEST: Final = "manifest.json"
CHANGED: Final = 1_772_450_000.0
"""When the frozen sessions were changed, in seconds since 1970."""

_MARK: Final = re.compile(r"\[condense: [a-z0-9, ]{1,80} #([0-9a-f]{8})\]")
"""Spelled out once more: later versions may change what they write, not what this finds in old files."""


class Frozen(Struct, frozen=True):
    """A condensed file, and how it was made.

    `restored` is the hash of what `restore` gives, as JSON. `is_whole`: that is the input, as JSON; `is_exact`: byte
    for byte. `shown` says what `show` finds in the input for the hash of each mark, and where.
    """

    file: str
    input: str
    arguments: tuple[str, ...]
    format: str
    restored: str
    is_whole: bool
    is_exact: bool
    shown: dict[str, str]
    faults: list[str]

    @property
    def needs_model(self) -> bool:
        return "--profile" in self.arguments


class Replaced(Struct, frozen=True):
    """A file that was condensed in place, so many times; `original` is what it was, `undone` what undo took away."""

    file: str
    original: str
    times: int
    undone: bool = False


class Manifest(Struct, frozen=True):
    """`prompts` is the version of the prompts, to which cached answers belong."""

    version: str
    prompts: str
    files: list[Frozen]
    replaced: list[Replaced]


def versions() -> list[Path]:
    """The folder of every version that was frozen."""
    return sorted(path.parent for path in HERE.glob(f"*/{MANIFEST}"))


def manifest_of(folder: Path) -> Manifest:
    return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)


def spelled(manifest: Manifest) -> bytes:
    """The list as a file: a line for each entry, so that a difference can be read."""
    members = []
    for key, value in msgspec.to_builtins(manifest).items():
        entries = ",\n  ".join(map(json.dumps, value)) if isinstance(value, list) else ""
        members.append(f' "{key}": ' + (f"[\n  {entries}\n ]" if entries else json.dumps(value)))
    return ("{\n" + ",\n".join(members) + "\n}\n").encode()


def with_answers(folder: Path, home: Path) -> dict[str, str]:
    """The environment of a run with the user's own configuration, and a copy of the cache of answers, of a version."""
    (home / "condense").mkdir()
    shutil.copyfile(folder / "caches/summaries.sqlite3", home / "condense/summaries.sqlite3")
    keys = {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-ant-test"}
    return {"XDG_CONFIG_HOME": str(folder / "own"), "XDG_CACHE_HOME": str(home), **keys}


def content(path: Path) -> bytes:
    """Bytes of a frozen file; large ones are compressed, under a name that says so."""
    return unpacked(path.read_bytes(), str(path))


def values(data: bytes) -> list[Any]:
    """The JSON values of a file."""
    try:
        return [json.loads(data)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in data.splitlines() if line.strip()]


def digest(data: bytes) -> str:
    """Hash of a file as JSON: spelling and blanks do not count."""
    return sha256(json.dumps(values(data), sort_keys=True).encode()).hexdigest()[:16]


def marks(data: bytes) -> list[str]:
    """Hashes of the marks in a condensed file, each once."""
    return sorted({found for value in values(data) for found in _MARK.findall(json.dumps(value))})


def shown(original: Transcript, hash: str) -> str:
    """What `show` finds in the original: its kind, and the first and last of its places. Empty where that is a mark."""
    try:
        hits = find(original, hash)
    except CondenseError:
        return ""
    first, last = hits[0], hits[-1]
    if HitKind.MARKER in (first.found, last.found):
        return ""
    begin, end = (hit.position.replace(".", ":") for hit in (first, last))  # As 0.1.0 wrote them.
    place = begin if len(hits) == 1 else f"{begin} to {end}, {len(hits)} blocks"
    return f"{first.found.value} {place}"


def faults(transcript: Transcript) -> list[str]:
    """The rules that a transcript breaks."""
    return sorted({fault.rule for fault in check(transcript, source="").faults})


def examined(folder: Path, file: str, input: str, arguments: Sequence[str]) -> Frozen:
    """What a version finds out about a file that it has just condensed. The paths are below the folder."""
    data, before = content(folder / file), content(folder / input)
    condensed, original = api.loads(data), api.loads(before)
    restored = api.dump(api.restore(condensed))
    found = {hash: shown(original, hash) for hash in marks(data)}
    return Frozen(
        file,
        input,
        tuple(arguments),
        condensed.format,
        digest(restored),
        digest(restored) == digest(before),
        restored == before,
        {hash: place for hash, place in found.items() if place},
        faults(condensed),
    )
