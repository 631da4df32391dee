"""Coverage-guided fuzzing of everything that reads a file: whatever the bytes, an answer or a clear error.

make fuzz, for longer: make fuzz FUZZ_SECONDS=3600
Seeds are the sample transcripts and presets, cut to a size at which mutations still hit something.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["condense_cli"]):
    from condense_cli import api
    from condense_cli.config.loading import parse_configuration
    from condense_cli.errors import CondenseError
    from condense_cli.formats import format_named, parse, serialize

PROJECT = Path(__file__).resolve().parent.parent.parent
STRICT = parse_configuration(
    "passes: [{id: a, selection: {type: custom}, individual_config: {defaults: {message_text: {operation: suppress}, "
    "tool_parameters: {operation: suppress}, "
    "tool_results: {operation: truncate, params: {truncate: {max_chars: 9}}}}}}]"
)


def read(data: bytes) -> None:
    """A transcript is read and written back byte for byte, condensed and read again, or refused."""
    for lenient in (False, True):
        try:
            transcript = parse(data, lenient=lenient)
        except CondenseError:
            continue
        assert serialize(transcript) == data
        condensation = api.condense(transcript, STRICT)
        if not format_named(transcript.format).is_writable:
            continue
        again = parse(api.dump(condensation), format=transcript.format, lenient=lenient)
        assert len(again.messages) <= len(transcript.messages)


def configure(data: bytes) -> None:
    with contextlib.suppress(CondenseError):
        parse_configuration(data.decode("utf-8", "replace"))


def one_input(data: bytes) -> None:
    if data[:1] == b"c":
        configure(data[1:])
    else:
        read(data[1:])


def seeds(folder: Path) -> None:
    for path in sorted((PROJECT / "sample_transcripts").glob("*.json*")):
        lines = path.read_bytes().split(b"\n")
        (folder / path.name).write_bytes(b"t" + b"\n".join(line[:1_500] for line in lines[:12]))
        (folder / f"whole-{path.name}").write_bytes(b"t" + b"\n".join(line for line in lines[:60] if len(line) < 1_500))
    for path in sorted((PROJECT / "presets").rglob("*.yaml")):
        (folder / path.name).write_bytes(b"c" + path.read_bytes())
    small = b'{"role":"user","content":[{"type":"text","text":"[read_file] Result:"}],"ts":1}'
    (folder / "roo").write_bytes(b"t[" + small + b"]")
    steps = b'{"role":"assistant","content":"a\\n```\\nls\\n```","action":"ls"},{"role":"user","content":"b"}'
    (folder / "swe-agent").write_bytes(b't{"trajectory":[],"history":[' + steps + b"]}")
    (folder / "object").write_bytes(b't{"messages":[{"role":"system","content":"x"}],"tools":[]}')


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seeds(Path(folder))
        atheris.Setup(
            [sys.argv[0], folder, "-max_len=20000", "-timeout=20", "-rss_limit_mb=4096", *sys.argv[1:]], one_input
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
