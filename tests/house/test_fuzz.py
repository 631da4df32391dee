"""Random damage to real files: whatever the bytes, the readers answer or refuse with a clear error.

`tests/fuzz/readers.py` does the same guided by coverage, for as long as one likes.
"""

from __future__ import annotations

import contextlib
from typing import Any

import agent_logs
import real
from build import LONG, anthropic, configuration, one_pass, read_turn, user
from hypothesis import given
from hypothesis import strategies as st
from references import EACH, check

from condense_cli import api
from condense_cli.config.loading import parse_configuration
from condense_cli.config.preset_folders import presets_folder
from condense_cli.errors import CondenseError
from condense_cli.formats import format_named, parse, serialize

SAMPLES = [*real.SAMPLES, *real.ONLY_READ]
FILES = [b"\n".join(line[:2_000] for line in path.read_bytes().split(b"\n")[:30]) for path in SAMPLES]
READS = [message for n in range(4) for message in read_turn(str(n), content=LONG[n * 30 :])]
FILES.append(api.dump(api.condense(anthropic(user("go"), *READS), configuration(lossless_prelude={}))))
CALL = {"id": "a", "type": "function", "function": {"name": "run_command", "arguments": '{"command": "ls"}'}}
SAID: list[dict[str, Any]] = [
    {"role": "system", "content": "x"},
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": LONG},
]
FILES += [write(SAID) for write in (agent_logs.WRITABLE | agent_logs.READ_ONLY).values()]
CONFIGURATIONS = [path.read_text() for path in sorted(presets_folder().rglob("*.yaml"))]
PIECES = [
    b"",
    b"\x00",
    b"\xff",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"null",
    b"1e999",
    b"\xed\xa0\x80",
    b"[see the next Read of src/app.py #123456]\\n",
    b" previous ",
    b"lines 2-9 above",
]
PIECES += [
    b"\\ud800",
    b'"type":"tool_use"',
    b'"role":"user"',
    b'"parentUuid":null',
    b'"ts":1',
    b"-",
    b"9" * 30,
    b"\xe2\x80\xa8",
]


@st.composite
def damaged(draw: st.DrawFn, originals: list[bytes]) -> bytes:
    data = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 0, 1, 2, 30, 500])))
        data = data[:start] + draw(st.sampled_from(PIECES)) + data[end:]
    return data


# What is read is written back byte for byte, and condensed without a defect; the rest is refused.
@given(damaged(FILES), st.booleans())
def test_damaged_transcripts_are_read_or_refused(data: bytes, lenient: bool) -> None:
    try:
        transcript = parse(data, lenient=lenient)
    except CondenseError:
        return
    assert serialize(transcript) == data
    condensation = api.condense(transcript, configuration(one_pass()))
    if format_named(transcript.format).is_writable:
        api.dump(condensation)
    if transcript.messages:
        api.convert(condensation, "anthropic")
    check(transcript.messages, EACH["all and parameters"])


@given(damaged([text.encode() for text in CONFIGURATIONS]))
def test_damaged_configurations_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(CondenseError):
        assert parse_configuration(data.decode("utf-8", "replace")) is not None
