"""A session to condense, what the preset `speed` makes of it, and ways to run the command."""

import contextlib
import fcntl
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from condense_cli.core.markers import Gap, short_hash

LONG: Final = 300.0
"""Seconds after which something is taken to hang. A test that passes never waits so long, however slow the machine."""

COMMAND: Final = (sys.executable, "-m", "condense_cli")
MARKER: Final = re.compile(r"\[… \d+ lines #\d{6}\]")
"""What stands where lines were left out."""

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ERASED: Final = re.compile(r"[^\n]*(?:\r|\n(?:\x1b\[\?25h)?\r?\x1b\[1A)\x1b\[2K")
_COLOURS: Final = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")

Records = list[dict[str, Any]]


def listing(number: int, lines: int = 40) -> str:
    """A tool result of many lines, different for each number."""
    return "".join(f"{number}: line {line} of the listing\n" for line in range(1, lines + 1))


CUT: Final = [listing(number) for number in range(1, 7)]
"""The results of `session()` that the preset `speed` cuts."""

KEPT: Final = [listing(number) for number in range(7, 9)]
"""Its results that belong to the newest five turns."""


def session(results: Iterable[str] = (*CUT, *KEPT)) -> Records:
    """Anthropic messages: a request, one exchange per result, a closing word."""
    records: Records = [{"role": "user", "content": "Please look around."}]
    for number, result in enumerate(results, start=1):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": f"src/{number}.py"}}
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}
        records += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    return [*records, {"role": "assistant", "content": "Done."}]


def as_lines(records: Records, *, ensure_ascii: bool = False) -> bytes:
    return b"".join(
        json.dumps(record, ensure_ascii=ensure_ascii).encode("utf-8", "surrogateescape") + b"\n" for record in records
    )


def cut_by_speed(text: str, keep: int = 3) -> str:
    """What `speed` leaves of a result: its first lines, and a marker that counts the others.

    Of a line with which they are longer than they may be, a part.
    """
    lines = text.split("\n")
    count = len(lines) - (not lines[-1])
    room = keep * 500
    for number, line in enumerate(lines[:keep]):
        if len(line) > room:
            gap = Gap(short_hash(text), count - number - 1, len(line) - room)
            return "\n".join([*lines[:number], line[:room] + "…", str(gap)])
        room -= len(line) + 1
    left_out = count - keep
    return "\n".join([*lines[:keep], str(Gap(short_hash(text), left_out))])


def condensed(data: bytes, texts: Iterable[str] = CUT, *, ensure_ascii: bool = False) -> bytes:
    """The file with the literal of each text exchanged for what `speed` leaves of it, and nothing else."""

    def literal(text: str) -> bytes:
        return json.dumps(text, ensure_ascii=ensure_ascii).encode("utf-8", "surrogateescape")

    for text in texts:
        assert data.count(literal(text)) == 1, "the test's own session does not hold the text"
        data = data.replace(literal(text), literal(cut_by_speed(text)))
    return data


DATA: Final = as_lines(session())
"""The session as a file."""

SMALLER: Final = condensed(DATA)
"""What `speed` makes of it."""

OPUS: Final = ("--model", "claude-opus-4-5")
"""A model whose prices have been the same since it is there: $5 for input, $0.50 read, $6.25 written."""


@dataclass(frozen=True)
class Outcome:
    """How a process ended and what it said."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout.decode()

    @property
    def plain(self) -> str:
        """Standard output without escape sequences, and without the progress that a slow run showed and erased."""
        return _ESCAPES.sub("", _ERASED.sub("", self.text))

    @property
    def has_colours(self) -> bool:
        return bool(_COLOURS.search(self.text))

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def message(self) -> str:
        """What was said on standard error, after checking that it is one clear message and no traceback."""
        said = self.stderr
        assert "Traceback" not in said, said
        assert "internal error" not in said, said
        assert "Exception ignored" not in said, said
        assert "\x1b" not in said, "colours where there is no terminal"
        lines = [line for line in said.splitlines() if line.strip()]
        starts = [line for line in lines if line.startswith(("condense: ", "Error: "))]
        assert len(starts) == 1, f"expected one message, got: {said!r}"
        assert len(lines) <= 3, f"a message of one or two sentences, not: {said!r}"
        return said


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process: the test's own, without what would decide about colours, width and buffers."""
    dropped = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "PYTHONUNBUFFERED", "PYTHONIOENCODING"}
    return {**{key: value for key, value in os.environ.items() if key not in dropped}, **(extra or {})}


def condense(
    *arguments: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Outcome:
    """Run `condense` inside the process of the tests, with streams that are no terminal. Much faster than a process."""
    from condense_cli.cli.table import app

    out, err = io.BytesIO(), io.BytesIO()
    stdout = io.TextIOWrapper(out, "utf-8", write_through=True)
    stderr = io.TextIOWrapper(err, "utf-8", errors="backslashreplace", write_through=True)
    with (
        patch.dict(os.environ, environment(env), clear=True),
        patch.multiple(sys, stdin=io.TextIOWrapper(io.BytesIO(stdin), "utf-8"), stdout=stdout, stderr=stderr),
        contextlib.chdir(cwd or Path.cwd()),
    ):
        try:
            app(args=[*map(str, arguments)], prog_name="condense")
            status = 0
        except SystemExit as ended:
            status = int(ended.code or 0)
        except BaseException:
            traceback.print_exc()
            status = 1
        stdout.flush()
        stderr.flush()
    return Outcome(status, out.getvalue(), err.getvalue().decode())


def condense_process(
    *arguments: str | Path,
    stdin: bytes = b"",
    stdout: Any = subprocess.PIPE,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    umask: int = -1,
    before_start: Callable[[], object] | None = None,
) -> Outcome:
    """Run `condense` in a process of its own, with pipes for its three streams."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(env),
        cwd=cwd,
        umask=umask,
        preexec_fn=before_start,
        timeout=LONG,
        check=False,
    )
    return Outcome(done.returncode, done.stdout or b"", done.stderr.decode())


def condense_on_terminal(*arguments: str | Path, columns: int = 80, env: Mapping[str, str] | None = None) -> Outcome:
    """Run `condense` with a pseudo-terminal of that width for its input, output and messages together."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment({"TERM": "xterm-256color", "PAGER": "cat", **(env or {})}),
    )
    os.close(theirs)
    pieces: list[bytes] = []
    deadline = time.monotonic() + LONG
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux says so when the other end is closed.
                break
            if not piece:
                break
            pieces.append(piece)
        status = process.wait(timeout=LONG)
    finally:
        os.close(ours)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
    return Outcome(status, b"".join(pieces).replace(b"\r\n", b"\n"), "")


@contextlib.contextmanager
def unharmed(folder: Path) -> Iterator[None]:
    """Nothing in the folder is written, changed, added or left behind."""
    before = snapshot(folder)
    yield
    after = snapshot(folder)
    assert after.keys() == before.keys(), "files were left behind or went"
    assert after == before, "a file was touched"


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything in a folder: names, kinds, bytes, times, permissions. Two are equal if nothing was touched."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_ino, status.st_mtime_ns, content)
    return found
