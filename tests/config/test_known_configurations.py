"""Configurations as their authors wrote them down run as they are, and do what they ask for."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import real
import yaml
from known_configurations import LOSSLESS, NATIVE, PASSES, PHASES, TRUNCATION
from msgspec.structs import replace

from condense_cli import api
from condense_cli.config.loading import parse_configuration
from condense_cli.core.markers import gaps_in, parse_gap, parse_summary
from condense_cli.core.transcript import Block, Transcript
from condense_cli.core.values import BlockKind
from condense_cli.lossless.decode import decode
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.decisions import REFER
from condense_cli.passes.receipts import THINKING, Kept, PassReceipt, Receipt, Status
from condense_cli.providers.native import Refusal
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED
from condense_cli.toolcalls.tools import arguments_of, string_values

FILES: Final = [*real.SAMPLES, *real.largest()]
LONG: Final = real.SESSION
NAMES: Final = {"messageText": "message_text", "toolParameters": "tool_parameters", "toolResults": "tool_results"}
STAYS: Final = {
    "keep": {Kept.CONFIGURED},
    "suppress": {Kept.NOT_SMALLER, Kept.SHORT_VALUES, Kept.WITHIN_LIMITS, Kept.NEWEST_STATE, Kept.CUT},
    "truncate": {Kept.NOT_SMALLER, Kept.SHORT_VALUES, Kept.WITHIN_LIMITS, Kept.NEWEST_STATE, Kept.CUT},
    "summarize": {Kept.NOT_SMALLER, Kept.SHORT_VALUES, Kept.WITHIN_LIMITS, Kept.NEWEST_STATE, Kept.CUT},
}
"""Why a block that a pass may touch can stay all the same, by the operation that is asked for."""

UNTOUCHED: Final = {
    Kept.STANDING, Kept.FIRST, Kept.BEFORE_REQUEST, Kept.FIRST_REQUEST, Kept.RECENT, Kept.REFERENCE, Kept.WORDS,
}  # fmt: skip


def _id(path: Path) -> str:
    return path.name[-40:]


def run(text: str, transcript: Transcript, count: Counter) -> Condensation:
    # Without what goes because it is old, which no pass of theirs says.
    configuration = replace(parse_configuration(text), thinking="keep", old_images="keep")
    found = api.condense(transcript, configuration, counter=count, factor=AS_COUNTED)
    api.dump(found)
    return found


def receipts_of(found: Condensation, id: str) -> list[Receipt]:
    return [receipt for receipt in found.receipts if receipt.pass_id == id]


def is_left_out(text: str) -> bool:
    return "\n" not in text and parse_gap(text) is not None


def texts_of(block: Block) -> list[str]:
    if block.kind is BlockKind.TOOL_CALL:
        return [value for _, value in string_values(arguments_of(block))]
    return [block.text]


# Each pass ran, or was skipped because the tokens were not above its threshold; in both cases it says so.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("path", FILES, ids=_id)
def test_every_pass_does_what_it_asks_for(path: Path, name: str, count: Counter) -> None:
    found = run(PASSES[name], real.transcript(path), count)
    assert found.passes[0].id == "lossless-prelude"
    assert found.passes[0].status is Status.COMPLETED
    runs = {receipt.id: receipt for receipt in found.passes}
    tokens = found.passes[0].tokens_after
    for asked in json.loads(PASSES[name])["passes"]:
        receipt = runs[asked["id"]]
        condition = asked["execution"].get("condition")
        keeps_all = set(_operations(asked)) == {"keep"}
        is_due = not keeps_all and (condition is None or tokens > condition["tokenThreshold"])
        assert receipt.tokens_before == tokens
        assert (receipt.status is Status.COMPLETED) is (is_due and not _is_up_to_date(receipt))
        if receipt.status is Status.COMPLETED:
            _check_batch(found, asked) if asked["mode"] == "batch" else _check_individual(found, asked)
        tokens = receipt.tokens_after


def _operations(asked: dict[str, Any]) -> Iterator[str]:
    if asked["mode"] == "batch":
        yield asked["batchConfig"]["operation"]
        return
    yield from (operation["operation"] for operation in asked["individualConfig"]["defaults"].values())


def _is_up_to_date(receipt: PassReceipt) -> bool:
    return receipt.reason.startswith("no more turns follow the last summary")


def _check_individual(found: Condensation, asked: dict[str, Any]) -> None:
    """Every block that the selection gives up became what its content type's operation makes of it, or says why not."""
    for key, operation in asked["individualConfig"]["defaults"].items():
        receipts = [one for one in receipts_of(found, asked["id"]) if one.content_type == NAMES[key]]
        how = operation["operation"]
        for receipt in receipts:
            if receipt.kept is not None:
                assert receipt.kept in UNTOUCHED | STAYS[how] | {Kept.NOT_AN_OBJECT, Kept.SUMMARY}, receipt
            else:
                assert receipt.operation in (how, REFER), receipt
    turns = asked["selection"]["keepRecentCount"]
    messages = found.before.messages
    recent = {message.index for message in messages[len(messages) - turns :]} if turns <= len(messages) else set()
    assert all(one.operation == REFER for one in found.changes if one.pass_id == asked["id"] and one.message in recent)


def _check_batch(found: Condensation, asked: dict[str, Any]) -> None:
    settings = asked["batchConfig"]["summarizationConfig"]
    marks = [mark for _, block in found.transcript.blocks() if (mark := parse_summary(block.text))]
    changed = {one.message for one in found.changes if one.pass_id == asked["id"] and one.operation == "summarize"}
    if not changed:
        assert {one.kept for one in receipts_of(found, asked["id"])} <= UNTOUCHED | {Kept.AT_END, Kept.EXCHANGE}
        return
    assert len(marks) == 1
    assert marks[0].messages >= len(changed) > 1
    kept = {one.message for one in receipts_of(found, asked["id"]) if one.kept is Kept.AT_END}
    assert len(kept) >= settings["keepLast"]


# What is left of a block is what its operation leaves: so many lines, so many characters, or a marker.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "kind", "lines"),
    [
        ("simple", BlockKind.TOOL_RESULT, 5),
        ("speed", BlockKind.TOOL_RESULT, 3),
        ("cost", BlockKind.TOOL_RESULT, 5),
        ("speed", BlockKind.TOOL_CALL, None),
    ],
)
@pytest.mark.parametrize("path", FILES, ids=_id)
def test_what_is_left_keeps_to_its_limits(
    path: Path, name: str, kind: BlockKind, lines: int | None, count: Counter
) -> None:
    found = run(PASSES[name], real.transcript(path), count)
    if any(mark for _, block in found.transcript.blocks() if (mark := parse_summary(block.text))):
        pytest.skip("what was cut was summarized after that")
    plain = {message.index: message for message in decode(found.transcript.messages).messages}
    how = "truncate" if lines else "suppress"
    cut = [one for one in found.changes if one.operation == how and one.kind is kind and one.pass_id != "pass-2"]
    suppressed = {(one.message, one.block) for one in found.changes if one.pass_id == "pass-2"}
    for receipt in cut:
        if (receipt.message, receipt.block) in suppressed:
            continue
        left = texts_of(plain[receipt.message].blocks[receipt.block])
        if lines:
            assert all(len([line for line in text.split("\n") if not gaps_in(line)]) <= lines for text in left)
        else:
            assert any(map(is_left_out, left))
    if path == LONG:
        assert cut


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_phases_work_until_the_target_is_met(path: Path, count: Counter) -> None:
    found = run(PHASES, real.transcript(path), count)
    assert found.target == int(found.tokens_before * 0.5)
    tokens = found.tokens_before
    for receipt in found.passes:
        assert (receipt.status is Status.SKIPPED) is (tokens <= found.target)
        tokens = receipt.tokens_after
    lossy = [one for one in found.changes if one.pass_id in ("lossy-phase", "fallback-phase")]
    assert {one.operation for one in lossy} <= {"truncate", REFER}
    assert not any(one.content_type == "message_text" and one.operation != REFER for one in lossy)
    if path == LONG:
        assert any(one.operation == "truncate" for one in lossy)
        assert not found.is_target_missed


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_truncation_cuts_results_and_parameters(path: Path, count: Counter) -> None:
    found = run(TRUNCATION, real.transcript(path), count)
    cut = [one for one in found.changes if one.pass_id != THINKING]
    assert {one.operation for one in cut} <= {"truncate"}
    assert {one.content_type for one in cut} <= {"tool_results", "tool_parameters"}
    messages = found.transcript.messages
    assert messages[-5:] == found.before.messages[-5:]
    now = {block.key: block for message in messages for block in message.blocks}
    for receipt in cut:
        left = texts_of(now[found.before.messages[receipt.message].blocks[receipt.block].key])
        limit = 5 if receipt.kind is BlockKind.TOOL_RESULT else 1_000
        assert all(len([line for line in text.split("\n") if not gaps_in(line)]) <= limit for text in left)
    if path == LONG:
        assert {one.content_type for one in cut} == {"tool_results", "tool_parameters"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", FILES, ids=_id)
def test_native_writes_one_summary(path: Path, count: Counter) -> None:
    found = run(NATIVE, real.transcript(path), count)
    if not found.changes:
        if found.passes[-1].status is Status.SKIPPED:
            assert found.passes[-1].reason in (Refusal.TOO_FEW_MESSAGES, Refusal.TOO_FEW_TOKENS)
        else:
            assert {one.kept for one in found.receipts} <= UNTOUCHED | {Kept.ANCHOR, Kept.NOT_SMALLER}
        return
    assert sum(parse_summary(block.text) is not None for _, block in found.transcript.blocks()) == 1
    assert found.transcript.messages[-10:] == found.before.messages[-10:]


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_lossless_writes_references_alone(path: Path, count: Counter) -> None:
    found = run(LOSSLESS, real.transcript(path), count)
    assert {one.operation for one in found.changes} <= {REFER}
    restored = api.restore(api.loads(api.dump(found), format=found.transcript.format)).transcript
    assert [block.text for _, block in restored.blocks()] == [block.text for _, block in found.before.blocks()]
    if path == LONG:
        assert found.changes


# YAML says the same as JSON.
@pytest.mark.parametrize("text", [*PASSES.values(), PHASES, TRUNCATION, NATIVE, LOSSLESS])
def test_they_say_the_same_in_yaml(text: str) -> None:
    assert parse_configuration(yaml.safe_dump(json.loads(text))) == parse_configuration(text)
