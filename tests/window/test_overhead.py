"""Tokens of a request besides its messages: known only if the file has the conversation from its beginning."""

import json
from typing import Any

import kimi_logs
import pi_sessions
import pytest
from build import call, condense, cut_to, one_pass, result, text
from claude_tree import boundary, reply, said, summary
from helpers import as_lines, condense_process
from msgspec.structs import replace
from rollouts import message
from rollouts import record as codex_record

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import factor_of
from condense_cli.window.use import overhead_of

Json = dict[str, Any]
MODEL = "claude-sonnet-4-5"
"""Its window has 200,000 tokens."""
LONG = "\n".join(f"{n}: the value of item {n} is {n * n}" for n in range(200))


def exchanges(first: int = 20_000) -> list[Json]:
    """A request and twenty calls; the first request counts these tokens, each further one 2,000 more."""
    records = [said(1, None, "Please look.")]
    for step in range(20):
        number = 2 * step + 2
        tool = call(f"toolu_{number}", "Read", file_path="a.txt")
        answered = reply(number, number - 1, f"msg_{number}", tool, model=MODEL)
        answered["message"]["usage"] = {"input_tokens": first + 2_000 * step, "output_tokens": 30}
        records += [answered, said(number + 1, number, [result(f"toolu_{number}", LONG)])]
    return records


def loaded(records: list[Json], format: str = "claude-code") -> Transcript:
    return api.loads(as_lines(records), format=format)


def overhead(transcript: Transcript, given: int | None = None) -> tuple[int, str]:
    count = Counter.of(transcript)
    return overhead_of(transcript, count, factor_of(transcript, count), given)


def test_usage_tells_it_where_the_conversation_begins() -> None:
    tokens, source = overhead(loaded(exchanges()))
    assert source == "recorded usage"
    assert 19_900 < tokens < 20_000


@pytest.mark.parametrize("first", [1, 2, 3, 4, 20])
def test_a_file_that_begins_in_the_middle_does_not_tell_it(first: int) -> None:
    """True if its first line is an answer or a result, so that earlier messages are missing."""
    transcript = loaded(exchanges()[first:])
    assert transcript.begins_in_middle
    assert overhead(transcript) == (0, "unknown")
    assert overhead(transcript, 7) == (7, "option")


# A request of the user may be the first line of a piece; only the parent that it names tells that it is one.
def test_a_request_in_the_middle_is_no_beginning() -> None:
    records = exchanges(150_000)
    more = [said(90, 41, "Go on."), reply(91, 90, "msg_91", text("Done."), model=MODEL)]
    more[1]["message"]["usage"] = {"input_tokens": 199_000, "output_tokens": 30}
    assert overhead(loaded(more)) == (0, "unknown")
    # After a compaction of the piece its first request is no better.
    compacted = [*more, boundary(92), summary(93, 92)]
    assert overhead(loaded(compacted)) == (0, "unknown")
    whole = overhead(loaded([*exchanges(), *more, boundary(92), summary(93, 92)]))
    assert (whole[0] > 19_900, whole[1]) == (True, "recorded usage")
    assert not loaded(records).begins_in_middle


def test_a_compaction_is_a_beginning() -> None:
    answered = reply(92, 91, "msg_92", text("Done."), model=MODEL)
    answered["message"]["usage"] = {"input_tokens": 20_000, "output_tokens": 30}
    transcript = loaded([boundary(90), summary(91, 90), answered])
    assert not transcript.begins_in_middle
    assert overhead(transcript)[1] == "recorded usage"


def test_an_overhead_that_fills_the_window_is_none() -> None:
    assert overhead(loaded(exchanges(150_000)))[1] == "recorded usage"
    assert overhead(loaded(exchanges(286_513))) == (0, "unknown")
    # A model whose window holds it.
    assert overhead(replace(loaded(exchanges(286_513)), model="claude-opus-4-6"))[1] == "recorded usage"


def test_a_piece_of_a_session_of_pi() -> None:
    usage = {"input": 90_000, "cacheRead": 0, "cacheWrite": 0, "output": 10}
    records = [
        pi_sessions.HEADER,
        pi_sessions.said("1", None, "user", "Go on."),
        pi_sessions.said("2", "1", "assistant", [{"type": "text", "text": "Done."}], model=MODEL, usage=usage),
    ]
    assert overhead(loaded(records, "pi"))[1] == "recorded usage"
    records[1]["parentId"] = "0"
    assert overhead(loaded(records, "pi")) == (0, "unknown")
    # Entries of the first version name no parents.
    records[1] = pi_sessions.answer("1", "0", "a")
    assert overhead(loaded(pi_sessions.first_version(records), "pi")) == (0, "unknown")


def counted(tokens: int) -> Json:
    usage = {"input_tokens": tokens, "output_tokens": 50}
    return codex_record("event_msg", type="token_count", info={"total_token_usage": usage, "last_token_usage": usage})


def rollout(*items: Json, instructions: str = "", has_head: bool = True) -> Transcript:
    """Items of which the last is an answer, and the usage of that."""
    head = codex_record("session_meta", id="s", base_instructions={"text": instructions})
    return loaded(
        [
            *([head] if has_head else []),
            *(codex_record("response_item", **item) for item in items),
            counted(9_000),
        ],
        "codex",
    )


ASKED, ANSWERED = message("user", "Please look."), message("assistant", "Done.")


def test_a_piece_of_a_rollout() -> None:
    """Its head is missing; a compaction behind it is a beginning."""
    assert overhead(rollout(ASKED, ANSWERED, has_head=False)) == (0, "unknown")
    lines = [codex_record("compacted", message="", replacement_history=[ASKED])]
    lines += [codex_record("response_item", **ANSWERED), counted(9_000)]
    assert overhead(loaded(lines, "codex"))[1] == "recorded usage"


def test_a_piece_of_a_log_of_kimi_code() -> None:
    records = [kimi_logs.HEADER, *kimi_logs.exchange()]
    assert overhead(loaded(records, "kimi"))[1] == "recorded usage"
    assert overhead(loaded(records[1:], "kimi")) == (0, "unknown")
    compaction = {"type": "context.apply_compaction", "summary": "So far.", "compactedCount": 9}
    assert overhead(loaded([*records[1:], compaction, *kimi_logs.exchange()], "kimi"))[1] == "recorded usage"


# Any format: nobody begins with an answer. The instructions of a rollout are a part of what is sent.
def test_order() -> None:
    assert overhead(rollout(ASKED, ANSWERED))[1] == "recorded usage"
    assert overhead(rollout(ANSWERED)) == (0, "unknown")
    assert overhead(rollout(ANSWERED, ASKED, ANSWERED)) == (0, "unknown")
    assert overhead(rollout(ASKED, ANSWERED, instructions=LONG))[1] == "recorded usage"
    cut = rollout(ANSWERED, instructions=LONG)
    tokens, source = overhead(cut)
    assert (tokens > 1_000, source) == (True, "request")
    assert overhead(replace(cut, is_envelope_whole=True)) == (tokens, "snapshot")
    whole = replace(rollout(ASKED, ANSWERED, instructions=LONG), is_envelope_whole=True)
    assert overhead(whole) == (tokens, "snapshot")
    assert overhead(whole, 0) == (0, "option")


@pytest.mark.slow
@pytest.mark.parametrize("is_condensed", [False, True])
def test_no_command_says_more_than_the_window_holds(is_condensed: bool) -> None:
    """Before condensing and after it."""
    transcript = loaded(exchanges(240_000)[3:])
    data = as_lines(exchanges(240_000)[3:])
    if is_condensed:
        data = api.dump(condense(transcript, one_pass(individual_config=cut_to(20))))
        assert len(data) < len(as_lines(exchanges(240_000)[3:])) / 2
    checked = json.loads(condense_process("check", "-", "--json", stdin=data).stdout)
    assert checked["percent"] < 100
    assert (checked["used"]["overhead"], checked["used"]["overhead_source"]) == (0, "unknown")
    assert checked["window"] == {"tokens": 400_000, "source": "recorded use"}
    shown = condense_process("check", "-", stdin=data).text
    assert "overhead" in shown
    assert "unknown; set it with --overhead-tokens" in shown
    inspected = json.loads(condense_process("inspect", "-", "--json", stdin=data).stdout)
    assert inspected["window"]["percent"] == checked["percent"]
    parts = {part["name"]: part["tokens"] for part in inspected["in_use"]["parts"]}
    assert ("not in the file" in parts) is (not is_condensed)
    assert sum(parts.values()) == inspected["in_use"]["tokens"]
