"""`restore` returns the same bytes, however a file spells its strings or mixes spellings."""

from __future__ import annotations

import json
from random import Random

import pytest
from build import LONG, assistant, call, configuration, one_pass, result, text, user
from hypothesis import assume, given
from hypothesis import strategies as st
from respelled import respelled
from strategies import REPEATING_FILES

from condense_cli import api
from condense_cli.errors import TranscriptError

WORDS = "\n".join(f"line {n}: café, naïve → done/{n}" for n in range(40))


def round_trip(data: bytes) -> tuple[bytes, bytes]:
    """Return the file after the prelude alone, and the restored one."""
    small = api.dump(api.condense(api.loads(data), preset="lossless"))
    restored = api.restore(api.loads(small))
    assert not restored.unresolved
    return small, api.dump(restored)


@given(REPEATING_FILES, st.randoms(use_true_random=False), st.sampled_from([0, 0.1, 0.5]))
def test_any_spelling_comes_back(data: bytes, random: Random, share: float) -> None:
    try:
        data = respelled(data, random, share)
        transcript = api.loads(data)
    except (UnicodeDecodeError, TranscriptError):  # Some kinds of files are known by how they spell them.
        assume(False)
    assume(not api.restore(transcript).transcript.is_changed)
    small = api.dump(api.condense(transcript, preset="lossless"))
    assert api.dump(api.restore(api.loads(small, format=transcript.format))) == data


def reads(*results: str) -> bytes:
    """Build a session of reads; results are given as literals."""
    lines = [json.dumps(user("Look.")).encode()]
    for number, literal in enumerate(results):
        lines.append(
            json.dumps({"role": "assistant", "content": [call(f"c{number}", "Read", file_path="a.py")]}).encode()
        )
        part = f'{{"type":"tool_result","tool_use_id":"c{number}","content":{literal}}}'
        lines.append(f'{{"role":"user","content":[{part}]}}'.encode())
    lines += [json.dumps({"role": "assistant", "content": [text(f"Done {n}.")]}).encode() for n in (1,)]
    return b"\n".join(lines)


RAW, ESCAPED = (json.dumps(WORDS, ensure_ascii=escapes) for escapes in (False, True))
MIXED = RAW.replace("é", "\\u00e9", 3).replace("/", "\\/", 2).replace(" ", "\\u0020", 1)


# Where one text is spelled unlike the others, it neither refers nor is referred to; the others do.
@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize(
    ("results", "smaller"),
    [
        ((RAW, RAW), True),
        ((ESCAPED, ESCAPED), True),
        ((RAW.replace("→", "\\u2192"), RAW), False),
        ((RAW, RAW.replace("→", "\\u2192")), False),
        ((RAW, ESCAPED), False),
        ((ESCAPED, RAW), False),
        ((MIXED, MIXED), False),
        ((MIXED, RAW, RAW), True),
        ((RAW, MIXED, RAW), True),
        ((ESCAPED, RAW, RAW), True),
        ((ESCAPED.replace("\\u00e9", "\\u00E9"), ESCAPED, ESCAPED), True),
        ((ESCAPED.replace("/", "\\/"), ESCAPED, ESCAPED), True),
    ],
)
def test_mixed_spellings_come_back(results: tuple[str, ...], smaller: bool) -> None:
    data = reads(*results)
    small, back = round_trip(data)
    assert back == data
    assert (len(small) < 0.8 * len(data)) == smaller


# JSON within a string may be spelled otherwise than the string around it.
@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("outer", [False, True])
def test_json_in_a_string_comes_back(inner: bool, outer: bool) -> None:
    output = json.dumps({"output": WORDS, "metadata": {"exit_code": 0}}, ensure_ascii=inner)
    arguments = json.dumps({"cmd": "cat é.py", "text": WORDS}, ensure_ascii=inner)
    items = [{"type": "message", "role": "user", "content": "Look."}]
    for number in range(3):
        items.append({"type": "function_call", "call_id": f"c{number}", "name": "shell", "arguments": arguments})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": output})
    items.append({"type": "message", "role": "assistant", "content": "Done."})
    data = json.dumps({"model": "gpt-5.1", "input": items}, ensure_ascii=outer).encode()
    small, back = round_trip(data)
    assert back == data
    assert (len(small) < 0.8 * len(data)) is not inner


# A marker has an ellipsis: once a pass has cut other texts, these would show how the file spells, and a second run
# would refer where the first one did not.
@pytest.mark.parametrize("escapes", [False, True])
def test_markers_do_not_show_how_a_file_spells(escapes: bool) -> None:
    code = "\n".join(f"line {n} of the file" for n in range(40))
    listing = "\n".join(f"{n + 1:6}→{line}" for n, line in enumerate(code.split("\n")))
    messages = [
        user("Go."),
        assistant([call("a", "Bash", command="ls")]),
        user([result("a", LONG)]),
        assistant([call("b", "Read", file_path="a.py")]),
        user([result("b", listing)]),
        assistant([call("c", "Bash", command="cat a.py")]),
        user([result("c", code)]),
        assistant("Done."),
    ]
    data = b"\n".join(json.dumps(message, ensure_ascii=escapes).encode() for message in messages)
    cut = one_pass(selection={"type": "custom", "tools": {"include": ["Bash"]}, "range": {"end": 3}})
    config = configuration(cut, lossless_prelude={})
    first = api.dump(api.condense(api.loads(data), config))
    assert (b"\\u2026" if escapes else "…".encode()) in first
    assert api.dump(api.condense(api.loads(first), config)) == first
