"""Use of the context by recorded usage, while the messages before it are unchanged."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import real
from build import call, condense, cut_to, one_batch, one_pass, result, text
from claude_tree import boundary, reply, said, summary
from helpers import as_lines, condense_process
from helpers import condense as command
from rollouts import message
from rollouts import record as codex_record

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import Usage
from condense_cli.formats.requests import recorded_requests
from condense_cli.money.bill import Billed
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED, typical_of
from condense_cli.window.decision import signs_of
from condense_cli.window.use import InUse, beside_messages, in_use, overhead_of

Json = dict[str, Any]
LARGE = "\n".join(f"{n}: the value of item {n} is {n * n}" for n in range(2_000))
BATCH = one_batch(3)


def used(sent: int, cached: int = 0, output: int = 2) -> Json:
    return {"input_tokens": sent, "cache_read_input_tokens": cached, "output_tokens": output}


def turn(number: int, tokens: int, content: str = "Done.") -> list[Json]:
    """A call with its result, which the usage does not include, behind the record before that number."""
    name = f"toolu_{number}"
    answered = reply(number, number - 1, f"msg_{number}", call(name, file_path="a.txt"))
    answered["message"]["usage"] = used(3, tokens - 3)
    return [answered, said(number + 1, number, [result(name, content)])]


def session() -> list[Json]:
    """Three calls, the first with a large result: 20,000 tokens of overhead, and the API counts 30,000 for the text."""
    contents = [(2, 20_010, LARGE), (4, 50_100, "a"), (6, 50_200, "b"), (8, 50_300, "c")]
    return [said(1, None, "Please look."), *(line for each in contents for line in turn(*each))]


def loaded(records: list[Json]) -> Transcript:
    return api.loads("".join(json.dumps(each) + "\n" for each in records), format="claude-code")


def written(transcript: Transcript, *passes: Json, **keys: Any) -> list[Json]:
    return [json.loads(line) for line in api.dump(condense(transcript, *passes, **keys)).splitlines()]


def found(transcript: Transcript) -> InUse:
    return in_use(transcript, Counter.of(transcript), AS_COUNTED)


def following(records: list[Json], tokens: int) -> list[Json]:
    """The records, and what a client that resumed them adds."""
    last = records[-1]
    answered = reply(90, None, "msg_new", text("I went on."), usage=None)
    answered["message"]["usage"] = used(tokens, output=7)
    request = said(89, None, "Go on.") | {"parentUuid": last["uuid"]}
    return [*records, request, answered | {"parentUuid": request["uuid"]}]


# The last request, its answer and later messages; a count that broke off does not shorten the answer.
def test_the_newest_usage_counts() -> None:
    transcript = loaded(session())
    count = Counter.of(transcript)
    last = sum(map(count.message, transcript.messages[-2:]))
    assert found(transcript) == InUse(50_300 + last, "recorded usage")
    records = session()
    records[-2]["message"]["usage"]["output_tokens"] = 1_000
    behind = count.message(transcript.messages[-1])
    assert found(loaded(records)) == InUse(51_300 + behind, "recorded usage")
    assert beside_messages(transcript, count, AS_COUNTED)[0] == 50_300 + last - count.transcript(transcript)
    assert overhead_of(transcript, count, AS_COUNTED) == (
        20_010 - count.message(transcript.messages[0]),
        "recorded usage",
    )


def test_an_overhead_that_is_named_goes_before_usage() -> None:
    transcript = loaded(session())
    count = Counter.of(transcript)
    assert in_use(transcript, count, AS_COUNTED, 100) == InUse(count.transcript(transcript) + 100, "estimated")


# Usage was recorded with what is cut now; a client that goes on records it anew.
@pytest.mark.parametrize("prelude", [False, True])
def test_a_cut_makes_usage_a_thing_of_the_past(prelude: bool) -> None:
    records = session()
    if prelude:  # A reference is a mark as well.
        records[4]["message"]["content"][0]["content"] = LARGE
    passes = cut_to(50_000) if prelude else one_pass()["individual_config"]
    cut = written(loaded(records), one_pass(individual_config=passes), lossless_prelude={"enabled": prelude})
    transcript = loaded(cut)
    count = Counter.of(transcript)
    assert count.transcript(transcript) < count.transcript(loaded(records))
    assert found(transcript) == InUse(
        count.transcript(transcript) + overhead_of(transcript, count, AS_COUNTED)[0], "estimated"
    )
    assert found(loaded(following(cut, 20_500))).source == "recorded usage"
    assert found(loaded(following(cut, 50_400))).source == "estimated"  # Nothing shows that it was sent without.


# A summary begins the conversation anew, with copies of what stays: their usage is older, what comes behind is not.
def test_behind_a_summary_of_ours() -> None:
    before = loaded(session())
    overhead = overhead_of(before, Counter.of(before), AS_COUNTED)
    records = written(before, one_pass(**BATCH))
    transcript = loaded(records)
    count = Counter.of(transcript)
    assert [usage.is_older for usage in transcript.usages] == [True] * len(transcript.usages) != []
    assert overhead_of(transcript, count, AS_COUNTED) == overhead
    assert found(transcript) == InUse(count.transcript(transcript) + overhead[0], "estimated")
    resumed = loaded(following(records, 21_000))
    last = Counter.of(resumed).message(resumed.messages[-1])
    assert found(resumed) == InUse(21_000 + max(7, last), "recorded usage")
    assert overhead_of(resumed, count, AS_COUNTED) == overhead


def test_what_a_client_kept_at_a_compaction_has_old_usage() -> None:
    kept = session()
    uuids = [line["uuid"] for line in kept[-2:]]
    summarized = [
        boundary(20, preservedMessages={"anchorUuid": summary(21, 20)["uuid"], "uuids": uuids}),
        summary(21, 20),
    ]
    records = [*kept, *summarized]
    transcript = loaded(records)
    assert [usage.is_older for usage in transcript.usages] == [True]
    assert found(transcript).source == "estimated"
    assert overhead_of(transcript, Counter.of(transcript), AS_COUNTED)[0] > 19_000
    assert found(loaded(following(records, 20_700))).source == "recorded usage"


def rollout(*records: Json) -> Transcript:
    head = codex_record("session_meta", id="s")
    return api.loads("".join(json.dumps(each) + "\n" for each in (head, *records)), format="codex")


def counted(tokens: int) -> Json:
    usage = {"input_tokens": tokens, "cached_input_tokens": 7, "output_tokens": 50}
    return codex_record("event_msg", type="token_count", info={"total_token_usage": usage, "last_token_usage": usage})


def codex_turn(number: int, tokens: int, content: str) -> list[Json]:
    asked = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": f"c{number}"}
    told = {"type": "function_call_output", "call_id": f"c{number}", "output": content}
    return [codex_record("response_item", **asked), counted(tokens), codex_record("response_item", **told)]


def test_rollouts() -> None:
    request = codex_record("response_item", **message("user", "Please look."))
    contents = [(1, 9_010, LARGE), (2, 40_000, "a"), (3, 40_100, "b"), (4, 40_200, "c")]
    transcript = rollout(request, *(line for each in contents for line in codex_turn(*each)))
    count = Counter.of(transcript)
    assert transcript.usages[-1] == Usage(7, 40_200, 50)
    said = max(50, count.message(transcript.messages[7]))
    assert found(transcript) == InUse(40_200 + said + count.message(transcript.messages[-1]), "recorded usage")
    records = written(transcript, one_pass(**BATCH))
    condensed = rollout(*records[1:])
    assert condensed.usages == ()
    assert overhead_of(condensed, count, AS_COUNTED) == overhead_of(transcript, count, AS_COUNTED)
    more = codex_record("response_item", **message("assistant", "Done."))
    assert found(rollout(*records[1:], more, counted(9_800))) == InUse(9_850, "recorded usage")


# An answer that was interrupted has no count: the next one's is not billed twice.
def test_a_count_belongs_to_the_answer_before_it() -> None:
    request = codex_record("response_item", **message("user", "Please look."))
    interrupted, *_, told = codex_turn(1, 9_010, "a")
    found = [*recorded_requests(rollout(request, interrupted, told, *codex_turn(2, 9_200, "b")))]
    assert [each.billed for each in found] == [None, Billed(7, 0, 9_193)]


@pytest.mark.parametrize("format", ["gemini", "opencode", "pi", "kimi"])
def test_every_format_that_records_usage(format: str) -> None:
    """The real files of it: the newest usage is found, and it is the last answer's."""
    for path in real.files_of(format):
        transcript = api.load(path)
        roles = {message.index: message.role.value for message in transcript.messages}
        assert {roles[usage.message] for usage in transcript.usages} <= {"assistant"}
        assert [usage.message for usage in transcript.usages] == sorted(usage.message for usage in transcript.usages)


@pytest.mark.slow
def test_check_says_which_it_is(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(as_lines(session()))
    arguments = ("check", str(path), "--context-window", "60000", "--json", "--threshold", "80")
    told = json.loads(condense_process(*arguments).stdout)
    assert told["condense"] is True
    assert (told["used"]["total_source"], told["used"]["total"] > 50_300) == ("recorded usage", True)
    given = json.loads(condense_process(*arguments, "--overhead-tokens", "0").stdout)
    assert (given["used"]["total_source"], given["used"]["total"]) == ("estimated", given["used"]["messages"])
    needed = condense_process("run", str(path), "--if-needed", "--context-window", "70000", "--threshold", "90", "-o-")
    assert needed.stdout == path.read_bytes()
    assert "recorded usage" in needed.stderr


@pytest.mark.parametrize(
    ("written", "lives_hour"),
    [
        ([(0, 900)], True),
        ([(900, 0)], False),
        ([(900, 0), (0, 900), (0, 0)], True),  # A request that writes nothing says nothing.
        ([(0, 900), (900, 10)], False),
        ([(None, "many")], False),
        ([], False),
    ],
)
def test_how_long_caches_live_is_recorded(written: list[tuple[Any, Any]], lives_hour: bool) -> None:
    records = session()
    answers = [record for record in records if "usage" in record.get("message", {})]
    for record, (minutes, hour) in zip(answers, written, strict=False):
        told = {"ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hour}
        record["message"]["usage"]["cache_creation"] = told
    assert loaded(records).lives_hour is lives_hour


def test_a_cache_of_an_hour_costs_more_to_write_anew(tmp_path: Path) -> None:
    """In the report of a run, in an estimate and in a check; a condensed file tells it still."""
    one_offs, left = [], []
    for life in ("5m", "1h"):
        records = session()
        for record in records:
            if "usage" in record.get("message", {}):
                record["message"]["usage"]["cache_creation"] = {f"ephemeral_{life}_input_tokens": 900}
        file = tmp_path / f"{life}.jsonl"
        file.write_text("".join(json.dumps(each) + "\n" for each in records))
        flags = (file, "--format", "claude-code", "-m", "claude-opus-4-5", "--json")
        run = command("run", *flags, "-p", "speed", "-o", tmp_path / f"{life}.small.jsonl").json
        estimate = command("estimate", *flags, "speed").json
        (option,) = estimate["presets"]
        assert option["cost"]["one_time"] == run["cost"]["one_time"]
        assert f"Assumes a warm cache ({'5 minutes' if life == '5m' else 'an hour'}" in run["cost"]["assumptions"][0]
        assert Decimal(str(estimate["prices"]["cache_write"])) == Decimal("6.25e-6" if life == "5m" else "1e-5")
        one_offs.append(Decimal(str(run["cost"]["one_time"])))
        left.append(command("check", *flags).json["pays"]["left_percent"])
        assert api.load(tmp_path / f"{life}.small.jsonl").lives_hour is (life == "1h")
    # Writing instead of reading: (1.25 - 0.1) and (2 - 0.1) of the price of input.
    assert one_offs[1] / one_offs[0] == pytest.approx(Decimal("1.9") / Decimal("1.15"))
    assert left[1] < left[0]


@pytest.mark.parametrize("format", ["codex", "claude-code"])
def test_usage_of_another_model_is_converted(format: str, tmp_path: Path) -> None:
    """Recorded in tokens of Sonnet 4 and of GPT, asked for Opus 5, which takes more of them for the same text."""
    recorded = {"codex": "gpt-5.5", "claude-code": "claude-sonnet-4-20250514"}[format]
    records = session()
    for record in records:
        if "usage" in record.get("message", {}):
            record["message"]["model"] = recorded
    request = codex_record("response_item", **message("user", "Please look."))
    lines = [codex_record("session_meta", id="s"), codex_record("turn_context", model=recorded), request]
    for each in [(1, 9_010, LARGE), (2, 45_000, "a"), (3, 50_300, "b")]:
        lines += codex_turn(*each)
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(lines if format == "codex" else records))
    flags = ("--format", format, "--context-window", "200k", "--json")
    own, other = (command("check", file, *flags, *model).json for model in ([], ["-m", "claude-opus-5"]))
    assert own["used"]["total"] == pytest.approx(50_300, rel=0.01)
    share = typical_of("claude-opus-5") / typical_of(recorded)
    assert other["used"]["total"] == pytest.approx(share * own["used"]["total"], rel=0.01)
    assert other["used"]["overhead"] == pytest.approx(share * own["used"]["overhead"], rel=0.05, abs=500)
    said = f"The recorded usage is in tokens of {recorded}; it was converted to those of claude-opus-5."
    assert (said in other["warnings"], own["warnings"]) == (True, [])
    same, unknown = (command("check", file, *flags, "-m", model).json for model in (recorded, "nobodys-model"))
    assert same["used"] == own["used"]
    assert unknown["used"]["total"] == pytest.approx(own["used"]["total"], rel=0.001)


def test_usage_that_cannot_be_true_is_doubted_aloud(tmp_path: Path) -> None:
    request = codex_record("response_item", **message("user", "Please look."))
    window = codex_record("event_msg", type="task_started", model_context_window=258_000)
    for tokens, is_doubted in [(4_280_000, True), (250_000, False)]:
        lines = [
            codex_record("session_meta", id="s"),
            window,
            request,
            *codex_turn(1, 9_010, "a"),
            *codex_turn(2, tokens, "b"),
        ]
        file = tmp_path / "session.jsonl"
        file.write_bytes(as_lines(lines))
        flags = (file, "--format", "codex", "-m", "gpt-5.5", "--json")
        for found in (command("check", *flags), command("inspect", *flags), command("estimate", *flags, "speed")):
            said = [
                each for each in found.json["warnings"] if each.startswith("The recorded usage (4,280,000 tokens) ")
            ]
            assert bool(said) == is_doubted
        assert (command("check", *flags).json["used"]["total_source"] == "estimated") == is_doubted


def test_what_was_never_sent_makes_no_window() -> None:
    """The file is a hundred times smaller, and nothing went from it."""
    records = session()
    answers = [record for record in records if "usage" in record.get("message", {})]
    answers[1]["message"]["usage"] = used(3, 4_280_000)
    transcript = loaded(records)
    assert signs_of(transcript).used < 100_000
    assert found(transcript).source == "recorded usage"  # The newest is another.
