"""Provider smart configured by phases: what each phase does, when it runs, and the passes that it becomes."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
import real
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    compiled,
    configuration,
    conversation,
    read_turn,
    result,
    text,
    thinking,
    user,
)
from msgspec.structs import replace
from summarizers import Short

from condense_cli import api
from condense_cli.config.checks import value_warnings
from condense_cli.config.loading import parse_configuration
from condense_cli.config.models import (
    Configuration,
    FallbackPhase,
    LlmPhase,
    LosslessPhase,
    LossyPhase,
    MultiPass,
    Repeat,
    SelectionPhase,
    TruncationConfig,
)
from condense_cli.core.markers import gaps_in, parse_summary
from condense_cli.core.transcript import Block, Message, Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import Kept, Status
from condense_cli.passes.summaries import Outcome, Refused, Task, TextTask, Written
from condense_cli.providers.smart import FALLBACK, LLM, LOSSY

OFF = {"enabled": False}
LONG_TALK = "\n".join(f"What is to be said about item {n} is said here, in line {n}." for n in range(70))


def phased(**phases: Any) -> Configuration:
    """Without the thinking that goes because it is old, which is no matter of phases."""
    found = configuration(**{"losslessPhase": OFF, "fallbackPhase": OFF, **phases})
    return replace(found, thinking="keep")


def talk(turns: int = 6) -> Transcript:
    """Turns of a call, its long result, an answer without a call, and a long message of the user."""
    return anthropic(user("Please fix it."), *(message for number in range(turns) for message in turn(number)))


def turn(number: int) -> list[dict[str, Any]]:
    arguments = {"path": f"src/file{number}.py", "content": f"{number} " + "new text " * 200}
    return [
        assistant([thinking(), text(f"{number} beside the call"), call(f"c{number}", "Write", **arguments)]),
        user([result(f"c{number}", f"{number}\n{LONG}\n{LONG}\n{LONG}")]),
        assistant([text(f"{number} my answer\n{LONG_TALK}")]),
        user(f"{number} my request\n{LONG_TALK}"),
    ]


def run(found: Configuration, transcript: Transcript | None = None, **keys: Any) -> Condensation:
    condensation = api.condense(transcript or talk(), found, **keys)
    api.dump(condensation)
    return condensation


def status(found: Condensation) -> dict[str, Status]:
    return {receipt.id: receipt.status for receipt in found.passes}


def changes(found: Condensation, id: str) -> list[Block]:
    """The blocks that a pass changed, as they were, in the order in which it took them."""
    blocks = {message.index: message.blocks for message in found.before.messages}
    return [blocks[one.message][one.block] for one in found.changes if one.pass_id == id and one.block >= 0]


def kinds(blocks: Sequence[Block]) -> list[BlockKind]:
    return list(dict.fromkeys(block.kind for block in blocks))


def lossy(**keys: Any) -> dict[str, Any]:
    return {"targetReductionPercent": 90, **keys}


# The lossy phase takes results before parameters, the oldest first, and stops at its target.
def test_the_lossy_phase_stops_at_the_target() -> None:
    found = run(phased(lossyPhase={"targetReductionPercent": 15}))
    taken = changes(found, LOSSY)
    assert found.target == int(found.tokens_before * 0.85)
    assert found.tokens_after <= found.target
    assert kinds(taken) == [BlockKind.TOOL_RESULT]
    assert [block.text[0] for block in taken] == sorted(block.text[0] for block in taken)
    assert any(receipt.kept is Kept.TARGET_REACHED for receipt in found.receipts)


def test_the_processing_order_decides_what_goes_first() -> None:
    for order, kind in (("tool_results", BlockKind.TOOL_RESULT), ("tool_params", BlockKind.TOOL_CALL)):
        rest = [name for name in ("tool_results", "tool_params") if name != order]
        found = run(phased(lossyPhase={"targetReductionPercent": 5, "processingOrder": [order, *rest]}))
        assert kinds(changes(found, LOSSY)) == [kind]


def test_the_target_of_the_run_stands_above_that_of_the_phase() -> None:
    transcript = talk()
    low = run(phased(lossyPhase=lossy(), target_tokens=20_000), transcript)
    assert low.target == 20_000
    assert run(phased(lossyPhase=lossy()), transcript, target_tokens=21_000).target == 21_000
    assert run(phased(lossyPhase=lossy(), target_reduction_percent=10), transcript).target == int(
        low.tokens_before * 0.9
    )


# Only what has more tokens than the threshold is a candidate.
def test_thresholds_leave_small_blocks_alone() -> None:
    assert not changes(run(phased(lossyPhase=lossy(toolResults={"threshold": 5_000}))), LOSSY)[0].answers
    found = run(phased(lossyPhase=lossy(toolParams={"threshold": 5_000})))
    assert kinds(changes(found, LOSSY)) == [BlockKind.TOOL_RESULT]
    assert any(receipt.kept is Kept.SMALL for receipt in found.receipts)


@pytest.mark.parametrize("strategy", ["suppress", "truncate", "summarize"])
def test_each_strategy_treats_results_and_parameters(strategy: str) -> None:
    settings = {"strategy": strategy}
    found = run(phased(lossyPhase=lossy(toolResults=settings, toolParams=settings)))
    assert {*kinds(changes(found, LOSSY))} == {BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL}
    assert {receipt.operation for receipt in found.changes} == {strategy}
    after = [block for _, block in found.transcript.blocks() if block.changed]
    if strategy == "suppress":
        assert all("[… " in block.text for block in after)
    if strategy == "truncate":
        cut = next(block.text for block in after if block.answers)
        assert len([line for line in cut.split("\n") if not gaps_in(line)]) == 5


# Text of assistant turns without calls and of user messages without results, and never thinking.
@pytest.mark.parametrize(
    ("preserved", "role", "said", "number"),
    [("preserveAssistantText", Role.ASSISTANT, "my answer", 5), ("preserveUserMessages", Role.USER, "my request", 4)],
)
def test_words_are_treated_where_they_are_not_preserved(preserved: str, role: Role, said: str, number: int) -> None:
    settings = lossy(
        toolResults={"threshold": 9_000}, toolParams={"threshold": 9_000}, assistantReasoning={"strategy": "truncate"}
    )
    kept = run(phased(lossyPhase=settings))
    assert not kept.changes
    found = run(phased(lossyPhase=settings, selectionPhase={preserved: False}))
    taken = changes(found, LOSSY)
    assert len(taken) == number
    assert all(said in block.text for block in taken)
    roles = {block.text: message.role for message, block in found.before.blocks()}
    assert {roles[block.text] for block in taken} == {role}


def test_reasoning_that_is_preserved_is_told() -> None:
    asked = phased(lossyPhase=lossy(assistantReasoning={"strategy": "summarize"}))
    assert "preserve_assistant_text is true" in " ".join(run(asked).warnings)
    assert not value_warnings(phased(lossyPhase=lossy()))


def test_the_newest_turns_stay() -> None:
    for count in (1, 9):
        found = run(phased(lossyPhase=lossy(), selectionPhase={"preserveRecentCount": count}))
        assert found.transcript.messages[-count:] == found.before.messages[-count:]


class Recording:
    """Notes what it is asked, and answers in several short lines."""

    lines = 8

    def __init__(self) -> None:
        self.tasks: list[TextTask] = []

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        self.tasks += [task for task in tasks if isinstance(task, TextTask)]
        return [Written("\n".join(["and so on"] * self.lines), by="recording") for _ in tasks]


# What the lossy phase left long is summarized, within its tokens and at most so many at a time.
def test_the_llm_phase_summarizes_what_is_left() -> None:
    recording = Recording()
    settings = {"enabled": True, "maxParallelCalls": 3, "summaryMaxTokens": 60}
    asked = phased(lossyPhase=lossy(toolResults={"truncateLines": 30}), llmPhase=settings)
    found = run(asked, summarizer=recording)
    assert status(found)[LLM] is Status.COMPLETED
    assert {task.max_tokens for task in recording.tasks} == {60}
    assert {task.max_parallel_calls for task in recording.tasks} == {3}
    assert kinds(changes(found, LLM)) == [BlockKind.TOOL_RESULT]


# The lossy phase of the next run leaves a summary alone: it would have cut what the summary stands for.
def test_summaries_are_not_cut_by_the_next_run() -> None:
    recording = Recording()
    recording.lines = 40
    results = {"truncateLines": 20, "threshold": 10}
    llm = {"enabled": True, "summaryMaxTokens": 100}
    asked = phased(lossyPhase=lossy(toolResults=results), llmPhase=llm, target_tokens=1_000)
    found = run(asked, summarizer=recording)
    assert changes(found, LLM)
    again = run(asked, api.loads(api.dump(found)), summarizer=recording)
    assert not again.changes


def test_no_summary_is_asked_for_when_the_target_is_reached() -> None:
    recording = Recording()
    found = run(phased(lossyPhase={"targetReductionPercent": 10}, llmPhase={"enabled": True}), summarizer=recording)
    assert status(found)[LLM] is Status.SKIPPED
    assert not recording.tasks


# Each phase runs only while the target is missed; the prelude is the first of them.
def test_a_phase_runs_only_while_the_target_is_missed() -> None:
    easy = run(configuration(lossyPhase={"targetReductionPercent": 5}))
    assert status(easy) == {"lossless-prelude": Status.COMPLETED, LOSSY: Status.SKIPPED, FALLBACK: Status.SKIPPED}
    hard = run(configuration(lossyPhase=lossy()))
    assert set(status(hard).values()) == {Status.COMPLETED}
    none = run(configuration(lossyPhase=lossy(enabled=False), losslessPhase=OFF, fallbackPhase=OFF))
    assert not none.changes


def test_the_lossless_phase_is_the_prelude() -> None:
    asked = configuration(losslessPhase={"consolidateResults": False}, lossless_prelude={"keep": "earliest"})
    prelude = compiled(asked).lossless_prelude
    assert prelude.enabled
    assert prelude.keep == "earliest"
    assert prelude.operations.deduplicate_file_reads
    assert not prelude.operations.consolidate_tool_results
    assert not compiled(phased()).lossless_prelude.enabled


def test_the_native_fallback_is_one_summary() -> None:
    asked = phased(
        lossyPhase=lossy(),
        fallbackPhase={"strategy": "native"},
        native={"maxMessagesToKeep": 4, "customPrompt": "Say."},
    )
    found = run(asked, summarizer=Short())
    assert status(found)[FALLBACK] is Status.COMPLETED
    messages = found.transcript.messages
    assert messages[0] == found.before.messages[0]
    assert sum(parse_summary(block.text) is not None for _, block in found.transcript.blocks()) == 1
    assert messages[-4:] == found.before.messages[-4:]
    summarization = compiled(asked).passes[-1].batch_config
    assert summarization
    assert summarization.summarization_config
    assert summarization.summarization_config.custom_prompt == "Say."


# Stricter limits leave fewer lines: half of them, then half of those.
def test_stricter_fallbacks() -> None:
    lines = {}
    for strategy in ("strict_truncation", "multi_pass"):
        results = {"truncateLines": 20, "threshold": 100}
        found = run(phased(lossyPhase=lossy(toolResults=results), fallbackPhase={"strategy": strategy}))
        cut = next(block.text for _, block in found.transcript.blocks() if block.answers)
        lines[strategy] = len([line for line in cut.split("\n") if not gaps_in(line)])
    assert lines == {"strict_truncation": 10, "multi_pass": 2}


def test_strict_truncation_truncates_whatever_the_strategy() -> None:
    summaries = lossy(toolResults={"strategy": "summarize", "threshold": 2_000})
    found = run(phased(lossyPhase=summaries, fallbackPhase={"strategy": "strict_truncation"}))
    assert not [block for block in changes(found, LOSSY) if block.answers]
    assert [block for block in changes(found, FALLBACK) if block.answers]
    assert {one.operation for one in found.changes if one.pass_id == FALLBACK} == {"truncate"}


@pytest.mark.parametrize(
    ("multi_pass", "rounds"),
    [
        ({}, (3, 0.5)),
        ({"maxPasses": 2, "thresholdReductionFactor": 0.25}, (2, 0.25)),
        ({"stricterThresholdsEachPass": False}, None),
        ({"thresholdReductionFactor": 1}, None),
    ],
)
def test_multi_pass_repeats_the_lossy_phase(multi_pass: dict[str, Any], rounds: tuple[int, float] | None) -> None:
    first, again = compiled(phased(lossyPhase=lossy(), fallbackPhase={"multiPass": multi_pass})).passes
    assert first.individual_config
    assert again.individual_config
    if rounds is None:
        assert again.repeat is None
        assert again.individual_config == first.individual_config
        return
    assert again.repeat == Repeat(max_passes=rounds[0], threshold_reduction_factor=rounds[1])
    before, after = (config.defaults.tool_results for config in (first.individual_config, again.individual_config))
    assert after.min_tokens == int(before.min_tokens * rounds[1])


# What compiles to passes says all of it: nothing of the sections is left.
@pytest.mark.parametrize("asked", [phased(), configuration(provider="truncation"), configuration(provider="native")])
def test_compiled_configurations_are_of_passes_alone(asked: Configuration) -> None:
    found = compiled(asked)
    assert found.provider == "smart"
    assert found.passes
    assert compiled(found) == found


def test_unusual_values_are_warned_of() -> None:
    unusual = phased(
        selectionPhase={"preserveRecentCount": 30},
        lossyPhase={"targetReductionPercent": 95},
        llmPhase={"maxParallelCalls": 20, "summaryMaxTokens": 10},
    )
    assert len(value_warnings(unusual)) == 4
    assert len(run(unusual).warnings) == 4


# The configurations in the document run, and what its tables call defaults are.
def test_the_document_is_right() -> None:
    page = (real.PROJECT / "docs" / "configuration.md").read_text()
    document = page[page.index("### Provider truncation") : page.index("## Flags of one run")]
    blocks = ["\n".join(re.findall(r"^    (.*)", part, re.MULTILINE)) for part in document.split("\n## ")]
    truncating, phases = (parse_configuration(block) for block in blocks)
    assert truncating.truncation == TruncationConfig()
    assert phases.lossy_phase == LossyPhase()
    for found in (truncating, phases):
        assert run(found).changes
    for struct in (LosslessPhase, SelectionPhase, LossyPhase, LlmPhase, FallbackPhase, MultiPass, TruncationConfig):
        assert all(f"`{name}`" in document or f"{name}:" in document for name in struct.__struct_fields__), struct


# Where calls fail nothing is asked a second time, though later phases cut what was not summarized.
def test_a_summary_that_failed_is_not_asked_for_again() -> None:
    failing = Counted()
    lines = [f"{number} of one line, " * 150 for number in range(6)]
    reads = [message for number, line in enumerate(lines) for message in read_turn(f"r{number}", content=line)]
    asked = configuration(
        lossyPhase=lossy(toolResults={"strategy": "summarize"}),
        llmPhase={"enabled": False},
        fallbackPhase={"strategy": "strict_truncation"},
    )
    found = run(asked, anthropic(user("Look."), *reads, *conversation(12)), summarizer=failing)
    assert found.changes
    assert len(failing.texts) == len(set(failing.texts)) > 5


class Counted:
    """Fails, and notes what it was asked for."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        self.texts += [task.text for task in tasks if isinstance(task, TextTask)]
        return [Refused("the model is overloaded") for _ in tasks]
