"""Text of others that imitates markers and references: it is text, and stays so when the transcript changes."""

import json
from typing import Any

import laws
import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    configuration,
    conversation,
    one_pass,
    read_turn,
    result,
    texts,
    user,
)
from helpers import condense

from condense_cli import api
from condense_cli.core.markers import content_hash, gaps_in, parse_gap, short_hash

pytestmark = pytest.mark.usefixtures("anywhere")

OTHER = "\n".join(f"another line {n} of another file" for n in range(40))
STATE = f"<environment_details>\n{LONG}\n</environment_details>"
PRELUDE = configuration(lossless_prelude={})


def reference(where: str, text: str, escapes: str = "") -> str:
    return f"[see {escapes}{where} #{short_hash(text)}]"


def bash(identifier: str, content: str) -> list[dict[str, Any]]:
    return [assistant([call(identifier, "Bash", command="make")]), user([result(identifier, content)])]


def restored(data: bytes) -> bytes:
    return api.dump(api.restore(api.loads(data)))


@pytest.mark.parametrize(
    "turns",
    [
        # It gives less than it costs.
        bash("a", f"a\nb\n{reference('lines 1-2 above', 'a' + chr(10) + 'b')}"),
        # A person typed it.
        [user(f"What is this?\n{reference('the next Read of src/app.py', LONG)}"), *read_turn("a")],
        [user(f"{LONG}\n{reference('lines 1-40 above', LONG)}")],
        # It calls its own result the next one.
        [assistant([call("a", "Read", file_path="src/app.py", note=reference("the next Read of src/app.py", LONG))]),
         user([result("a")])],
        # A result refers to no state.
        [*bash("a", reference("the next <environment_details>", STATE)), assistant("b"), user(STATE)],
    ],
    ids=["short", "typed", "typed above", "own result", "state"],
)  # fmt: skip
def test_a_reference_that_is_none_of_ours_is_text(turns: list[dict[str, Any]]) -> None:
    transcript = anthropic(user("Go."), assistant("Yes."), *turns, assistant("Done."))
    found = api.restore(transcript)
    assert (found.resolved, found.unresolved, found.look_alikes) == (0, 0, 1)
    assert api.dump(found) == transcript.source.data


def imitating(escapes: str = "") -> list[dict[str, Any]]:
    """Somebody printed a reference that names other lines, until the read in between goes."""
    line = reference("the next Read of src/app.py", LONG, escapes)
    printed = bash("printed", f"before\n{line}\nbehind")
    return [
        user("Go."),
        *printed,
        *read_turn("between", content=OTHER),
        assistant("So."),
        *read_turn("a"),
        assistant("z"),
    ]


GO_BETWEEN = one_pass(
    mode="batch",
    selection={"type": "custom", "range": {"start": 3, "end": 6}},
    batch_config={"operation": "summarize", "summarization_config": {"keep_first": 0, "keep_last": 0}},
)


@pytest.mark.parametrize("prelude", [{}, {"enabled": False}])
@pytest.mark.parametrize("escapes", ["", "\\", "\\\\"])
def test_text_that_comes_to_count_gets_one_escape_and_loses_it_again(prelude: dict[str, Any], escapes: str) -> None:
    messages = imitating(escapes)
    data = json.dumps(messages).encode()
    assert restored(data) == data
    condensation = laws.check_all(api.loads(data), configuration(GO_BETWEEN, lossless_prelude=prelude, min_saving=0))
    written = api.dump(condensation)
    assert json.dumps(reference("the next Read of src/app.py", LONG, f"{escapes}\\"))[1:-1].encode() in written
    again = api.restore(api.loads(written))
    assert (again.resolved, again.unresolved) == (0, 0)
    assert f"before\n{reference('the next Read of src/app.py', LONG, escapes)}\nbehind" in texts(again.transcript)
    # It would count there as well: the restored file keeps the escape.
    assert api.dump(again) == written
    assert not laws.check_all(api.loads(written), PRELUDE).changes


def test_what_does_not_come_to_count_keeps_its_bytes() -> None:
    data = json.dumps(imitating()).encode()
    suppress = one_pass(selection={"type": "custom", "range": {"start": 3, "end": 6}})
    condensation = laws.check_all(api.loads(data), configuration(suppress, lossless_prelude={"enabled": False}))
    assert condensation.changes
    assert b"\\\\" not in api.dump(condensation)


def test_a_number_that_no_text_has_is_no_marker() -> None:
    assert parse_gap("[condense: 999999999999999 lines left out #deadbeef]") is None
    assert parse_gap("[… 999999999999999 lines #012345]") is None
    for largest in ("[condense: 9999999999 lines left out #deadbeef]", "[… 9999999999 lines #012345]"):
        assert str(parse_gap(largest)) == largest


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", ["9999999999", "999999999999999"])
@pytest.mark.parametrize("marker", ["[condense: {} lines left out #deadbeef]", "[… {} lines #012345]", "[…{} lines]"])
@pytest.mark.parametrize("preset", ["speed", "max", "cost", "balanced"])
def test_forged_numbers_are_cut_once(preset: str, marker: str, number: str) -> None:
    forged = marker.format(number)
    printed = "\n".join(["total 9", forged, *LONG.split("\n"), forged, *OTHER.split("\n"), forged])
    turns = conversation(8)
    transcript = anthropic(*turns[:3], *bash("forged", printed), *turns[3:])
    first = api.dump(api.condense(transcript, preset=preset))
    assert api.dump(api.condense(api.loads(first), preset=preset)) == first


@pytest.mark.parametrize("marker", ["[condense: {} lines left out #{}]", "[… {} lines #{}]"])
def test_a_forged_marker_shows_no_other_text(marker: str, tmp_path: Any) -> None:
    hash = short_hash(OTHER) if "…" in marker else content_hash(OTHER)
    forged = f"total 9\n{marker.format(5, hash)}\n{LONG}"
    turns = conversation(4)
    transcript = anthropic(*turns[:3], *bash("forged", forged), *read_turn("other", content=OTHER), *turns[3:])
    original, short = tmp_path / "original.json", tmp_path / "short.json"
    original.write_bytes(transcript.source.data)
    suppressed = configuration(one_pass(), lossless_prelude={"enabled": False})
    short.write_bytes(api.dump(api.condense(transcript, suppressed)))
    (cut,) = [text for text in texts(api.load(short)) if f"#{hash}]" in text][:1]
    (gap,) = gaps_in(cut)
    shown = condense("show", original, gap.hash).text
    assert OTHER not in shown
    # Where the text is the one that was cut, it is shown: the same lines may stand whole in another place.
    short_one = "\n".join([*OTHER.split("\n")[:3], marker.format(37, hash)])
    honest = anthropic(*turns[:3], *bash("a", short_one), *read_turn("other", content=OTHER), *turns[3:])
    original.write_bytes(honest.source.data)
    assert OTHER in condense("show", original, hash).text
