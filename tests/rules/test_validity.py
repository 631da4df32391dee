"""What the rules of an API allow and what they refuse, at their edges."""

import json
from typing import Any

import pytest
from build import (
    anthropic,
    assistant,
    call,
    claude_line,
    condense,
    one_pass,
    openai,
    read_turn,
    result,
    rollout,
    session,
    text,
    thinking,
    user,
)
from pictures import picture

from condense_cli import api
from condense_cli.core.transcript import Place, Transcript, cut_before, stretches
from condense_cli.rules import validity
from condense_cli.rules.validity import validate, validate_input


def image(width: int, height: int) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": picture(width, height)}
    return {"type": "image", "source": source}


def rules_broken(transcript: Transcript) -> set[str]:
    return {violation.rule for violation in validate(transcript)}


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
COMPACTION = {"type": "compaction", "content": "before", "signature": "s"}
UNSIGNED = {"type": "thinking", "thinking": "hm", "signature": ""}
MARKED = {"cache_control": {"type": "ephemeral"}}

CALLS = {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "{}"}}]}
TOOL = {"role": "tool", "tool_call_id": "x", "content": "r"}
ASKED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}
CALLED = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "x"}
OUTPUT = {"type": "function_call_output", "call_id": "x", "output": "r"}
REASONING = {"type": "reasoning", "summary": [], "encrypted_content": "g"}


def test_valid_transcripts_break_nothing() -> None:
    assert not rules_broken(anthropic(user("a"), *read_turn("x"), assistant([thinking(), text("b")]), user("c")))
    assert not rules_broken(rollout(ASKED, REASONING, CALLED, OUTPUT, ASKED))
    assert not rules_broken(openai({"role": "system", "content": "s"}, user("a"), CALLS, TOOL, assistant("b")))


# A transcript may end in calls that wait for their results.
def test_open_calls_at_the_end_are_allowed() -> None:
    assert not rules_broken(anthropic(user("a"), assistant([call("x"), call("y")])))
    assert not rules_broken(openai(user("a"), CALLS))


# Results of parallel calls may come in several user messages: the API joins them.
def test_results_spread_over_messages_are_valid() -> None:
    spread = [user("a"), assistant([call("x"), call("y")]), user([result("y")]), user([result("x")])]
    assert not rules_broken(anthropic(*spread))


@pytest.mark.parametrize("role", [user, assistant])
def test_a_message_of_blanks_is_not_valid(role: Any) -> None:
    assert rules_broken(anthropic(user("a"), assistant("b"), role(" \n"), role("c"))) == {"texts_not_blank"}


# A result comes with the call, in the next answer where a client's tool was called too, or when code has ended.
def test_calls_of_servers_may_wait_for_their_results() -> None:
    code = SEARCH | {"name": "code_execution"}
    assert not rules_broken(anthropic(user("a"), assistant([SEARCH, FOUND, text("b")]), user("c")))
    assert not rules_broken(anthropic(user("a"), assistant([SEARCH])))
    both = [user("a"), assistant([SEARCH, call("x")]), user([result("x")])]
    assert not rules_broken(anthropic(*both, assistant([FOUND, text("b")]), user("c")))
    assert rules_broken(anthropic(*both, assistant("b"), user("c"))) == {"server_calls_answered"}
    twice = [user("a"), assistant([code, call("x")]), user([result("x")]), assistant([call("y")]), user([result("y")])]
    assert not rules_broken(anthropic(*twice, assistant([FOUND, text("b")]), user("c")))
    assert rules_broken(anthropic(user("a"), assistant([FOUND]), user("b"))) == {"server_calls_answered"}


def test_no_cut_parts_calls_of_servers_from_results() -> None:
    messages = anthropic(user("a"), assistant([SEARCH, call("x")]), user([result("x")]), assistant([FOUND])).messages
    assert stretches(messages) == [range(1), range(1, 4)]
    assert cut_before(messages, 3) == 1


# Where a request has more than 20 images, those of results among them, each may have 2,000 pixels each way.
def test_how_large_images_may_be() -> None:
    def broken(*images: dict[str, Any]) -> list[str]:
        half = len(images) // 2
        turns = [assistant([call("x")]), user([result("x", list(images[half:]))]), assistant("b")]
        said = [violation.said for violation in validate(anthropic(user([text("a"), *images[:half]]), *turns))]
        return [each.rpartition("size")[2] for each in said]

    assert broken(image(8_000, 8_000), image(1, 8_000)) == []
    assert broken(image(8_000, 8_001), image(10, 10)) == [": 8000 pixels"]
    assert broken(*[image(2_001, 10)] * 20) == []
    assert broken(*[image(2_000, 2_000)] * 40) == []
    assert broken(*[image(9, 9)] * 20, image(10, 2_001)) == [" for many-image requests: 2000 pixels"]
    link = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    assert broken(*[link] * 30, image(10, 2_001)) == [" for many-image requests: 2000 pixels"]
    assert broken(*[link | {"source": {"type": "base64", "data": "no image"}}] * 30) == []


def test_how_large_the_data_of_an_image_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validity, "LARGEST_IMAGE", 4_000)

    def said(size: int) -> list[str]:
        source = {"type": "base64", "media_type": "image/png", "data": "A" * size}
        return [violation.said for violation in validate(anthropic(user([{"type": "image", "source": source}])))]

    assert said(4_000) == []
    assert said(4_004) == ["messages.0: image exceeds 10 MB maximum: 4004 bytes > 4000 bytes"]


# Images and documents count with their data, and what a run left out of them does not.
def test_how_large_a_request_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validity, "REQUEST", 4_000)
    monkeypatch.setattr(validity, "REQUEST", 4_000)
    data = "A" * 1_200
    images = [{"type": "image", "source": {"type": "base64", "data": data}} for _ in "123"]
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}
    assert not rules_broken(anthropic(user([text("a"), *images, text("b" * 390)])))
    assert rules_broken(anthropic(user([*images, text("b" * 401)]))) == {"request_not_too_large"}
    assert rules_broken(anthropic(user([*images, document]))) == {"request_not_too_large"}
    assert not rules_broken(anthropic(user([text("a" * 1_000), *[{"type": "unknown"}] * 40])))
    whole = anthropic(user("a"), assistant([call("x")]), user([result("x", [*images, images[0]])]), assistant("b"))
    assert [(each.message, each.said) for each in validate(whole)] == [
        (2, "request_too_large: Request exceeds the maximum size")
    ]
    suppressed = {"defaults": {"images": {"operation": "suppress"}}}
    everything = {"type": "preserve_recent", "keep_recent_count": 0}
    assert not rules_broken(condense(whole, one_pass(selection=everything, individual_config=suppressed)).transcript)


def test_how_many_messages_a_request_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validity, "MESSAGES", 4)
    monkeypatch.setattr(validity, "MESSAGES", 4)
    turns = [say("a") for _ in "123" for say in (user, assistant)]
    assert not rules_broken(anthropic(*turns[:4]))
    assert [(each.message, each.rule) for each in validate(anthropic(*turns))] == [(4, "request_not_too_large")]


# An escaped backslash in front makes text of it, and a byte that is no UTF-8 is another matter.
def test_half_of_an_emoji_is_found() -> None:
    def rules_broken(transcript: Transcript) -> set[str]:
        return {violation.rule for violation in validate_input(transcript)}

    assert rules_broken(anthropic(user("half: \ud83d"))) == {"texts_are_unicode"}
    assert rules_broken(openai(user("half: \udc00"))) == {"texts_are_unicode"}
    assert rules_broken(rollout(ASKED, CALLED, OUTPUT | {"output": "\ud83d"})) == {"texts_are_unicode"}
    for content in ("a whole one: \U0001f600", "\\ud83d", "\\\\ud83d"):
        assert not rules_broken(anthropic(user(content)))
    assert not rules_broken(api.loads(b'{"role": "user", "content": "\xff \\ud83d\\ude00"}'))


# What the API signed may have no text; models of others, and clients that keep their thinking, sign nothing.
def test_whose_thinking_is_signed() -> None:
    def broken(thinking: dict[str, Any], **keys: Any) -> set[str]:
        messages = [user("a"), assistant([thinking, text("b")]), user("c")]
        return rules_broken(api.loads(json.dumps({**keys, "messages": messages})))

    assert broken(thinking("")) == set()
    assert broken({"type": "redacted_thinking", "data": "x"}) == set()
    for unsigned in (UNSIGNED, {"type": "thinking", "thinking": "hm"}, UNSIGNED | {"signature": None}):
        assert broken(unsigned) == broken(unsigned, model="claude-opus-4-6") == {"thinking_is_signed"}
        assert broken(unsigned, model="glm-4.6") == set()
    twice = anthropic(
        user("a"), assistant([thinking(), UNSIGNED, text("b")]), user("c"), assistant([UNSIGNED, text("d")])
    )
    where = [str(Place(record, ("content", number, "thinking"))) for record, number in ((1, 1), (3, 0))]
    assert [(each.message, each.about) for each in validate(twice)] == [*zip((1, 3), where, strict=True)]
    stored = [user("a") | {"ts": 1}, assistant([UNSIGNED, text("b")]) | {"ts": 2}, user("c") | {"ts": 3}]
    for client in ("roo", "cline"):
        assert not rules_broken(api.loads(json.dumps(stored), format=client))
    record = claude_line("user", "u", None, "a"), claude_line("assistant", "v", "u", [UNSIGNED, text("b")], reply="m")
    assert rules_broken(session(*record)) == {"thinking_is_signed"}


# A run is not to fail on what its input broke, and breaks nothing more.
def test_a_run_goes_on_with_what_was_refused_already() -> None:
    turns = [message for n in range(6) for message in read_turn(f"t{n}")]
    images = [image(3_000, 3_000) for _ in range(21)]
    transcript = anthropic(user("a"), assistant([UNSIGNED, text("b")]), user(images), *turns, assistant("c"))
    assert rules_broken(transcript) == {"thinking_is_signed", "images_not_too_large"}
    condensed = condense(transcript)
    assert condensed.changes
    assert condensed.new_violations == []
    assert len(condensed.old_violations) == 22


def test_what_a_compaction_and_documents_may_be() -> None:
    assert not rules_broken(anthropic(assistant([COMPACTION]), user("a")))
    old = {"type": "compaction", "content": "before"}
    assert not rules_broken(anthropic(user("a"), assistant([old]), user([DOCUMENT, text("b")])))


# A mark in what a tool gave back counts, and words about marks do not.
def test_cache_marks_are_counted_where_they_are() -> None:
    marked = [user("a"), *read_turn("x", content=[text(str(n)) | MARKED for n in range(4)])]
    assert not rules_broken(anthropic(*marked, assistant('{"cache_control": {}}')))
    assert rules_broken(anthropic(*marked, assistant([text("b") | MARKED]))) == {"at_most_four_cache_marks"}


# Files are kept with their standing instructions in front, where the API takes none.
@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_before_the_first_user_message_are_not_valid(role: str) -> None:
    transcript = anthropic({"role": role, "content": "s"}, user("a"), *read_turn("x"))
    assert rules_broken(transcript) == {"first_message_from_user"}
    assert not rules_broken(anthropic(user("a"), {"role": "system", "content": "s"}, assistant("b")))


def test_thinking_after_an_edit_is_found_where_the_model_binds_it() -> None:
    from msgspec.structs import replace

    transcript = anthropic(user("a"), *read_turn("x"), assistant([thinking(), text("b")]))
    blocks = transcript.messages[2].blocks
    edited = replace(transcript.messages[2], blocks=(blocks[0].with_text("cut"),))
    messages = (*transcript.messages[:2], edited, transcript.messages[3])
    for model, broken in (("claude-sonnet-5-5", True), ("claude-opus-4-5", False), (None, False)):
        changed = replace(transcript, messages=messages, model=model)
        assert ("thinking_bound_to_prefix" in rules_broken(changed)) is broken


# What the input broke already is not held against the output.
def test_old_violations_are_not_new() -> None:
    from build import LONG, condense

    broken = anthropic(user("a"), assistant([call("x")]), user("b"), *read_turn("y", content=LONG), assistant("z"))
    assert validate(broken)
    condensation = condense(broken)
    assert condensation.changes
    assert condensation.new_violations == []
    assert [violation.rule for violation in condensation.old_violations] == ["calls_answered_next"]
