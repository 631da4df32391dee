"""Coverage-guided fuzzing of everything that reads a file: whatever the bytes, an answer or a clear error.

make fuzz, for longer: make fuzz FUZZ_SECONDS=3600
Seeds are the sample transcripts and presets, cut to a size at which mutations still hit something.
"""

import contextlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["condense_cli"]):
    from condense_cli import api
    from condense_cli.config.loading import parse_configuration
    from condense_cli.core.transcript import Message, Transcript
    from condense_cli.core.values import BlockKind
    from condense_cli.errors import CondenseError
    from condense_cli.formats import format_named, parse, serialize
    from condense_cli.lossless.decode import decode
    from condense_cli.lossless.encode import encode, with_blocks
    from condense_cli.lossless.pieces import Finders
    from condense_cli.tokens.counting import Counter
    from condense_cli.toolcalls.tools import arguments_of

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
        refer(transcript)
        condensation = api.condense(transcript, STRICT)
        if not format_named(transcript.format).is_writable:
            continue
        again = parse(api.dump(condensation), format=transcript.format, lenient=lenient)
        assert len(again.messages) <= len(transcript.messages)


def refer(transcript: Transcript) -> None:
    """References are understood whatever stands in them, and what is written with new ones says the same."""
    plain = decode(transcript.messages).messages
    for keep in ("latest", "earliest"):
        encoded = encode(plain, Finders(tool_parameters=True), Counter(), lambda *_: True, keep=keep)
        again = decode(with_blocks(plain, encoded.blocks)).messages
        for place in encoded.blocks:
            assert said(again, place) == said(plain, place)


def said(messages: Sequence[Message], place: tuple[int, int]) -> object:
    block = messages[place[0]].blocks[place[1]]
    return arguments_of(block) if block.kind is BlockKind.TOOL_CALL else block.text


def configure(data: bytes) -> None:
    with contextlib.suppress(CondenseError):
        parse_configuration(data.decode("utf-8", "replace"))


def one_input(data: bytes) -> None:
    if data[:1] == b"c":
        configure(data[1:])
    else:
        read(data[1:])


def with_references() -> bytes:
    """Reads of one file that refer to each other in every way: whole, in part, numbered, above, to their own call."""
    lines = [f"def function_{n}(x): return {n} * x + {n}" for n in range(9)]
    listing = [f"{n}:{line}" for n, line in enumerate(lines, 4)]
    texts = [lines, lines[:6], ["before", *listing], [*lines[3:], "other", *lines[3:]], listing]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for n, text in enumerate(texts):
        shown, name = "\n".join(text), "Edit" if n == 3 else "Read"
        arguments = {"path": "a.py", "new_string": shown} if n == 3 else {"path": "a.py"}
        call = {"type": "tool_use", "id": str(n), "name": name, "input": arguments}
        result = {"type": "tool_result", "tool_use_id": str(n), "content": shown}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    state = "<system-reminder>\n" + "\n".join(lines) + "\n</system-reminder>"
    messages += [{"role": role, "content": state} for role in ("user", "assistant", "user", "assistant")]
    # The newest six turns have no references.
    messages += [{"role": role, "content": f"step {n}"} for n in range(4) for role in ("user", "assistant")]
    condensed = api.dump(api.condense(api.loads(messages), parse_configuration("lossless_prelude: {}")))
    assert condensed.count(b"[see ") > 4
    return condensed


def seeds(folder: Path) -> None:
    for path in sorted((PROJECT / "sample_transcripts").rglob("*.json*")):
        lines = path.read_bytes().split(b"\n")
        (folder / path.name).write_bytes(b"t" + b"\n".join(line[:1_500] for line in lines[:12]))
        (folder / f"whole-{path.name}").write_bytes(b"t" + b"\n".join(line for line in lines[:60] if len(line) < 1_500))
    for path in sorted((PROJECT / "presets").rglob("*.yaml")):
        (folder / path.name).write_bytes(b"c" + path.read_bytes())
    small = b'{"role":"user","content":[{"type":"text","text":"[read_file] Result:"}],"ts":1}'
    (folder / "roo").write_bytes(b"t[" + small + b"]")
    (folder / "references").write_bytes(b"t" + with_references())
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
