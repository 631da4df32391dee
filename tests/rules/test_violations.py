"""Violations to the word: message, call or block, and the answer of the API.

A run holds the violations of its output against those of its input by rule and `about`: one that names the wrong block
hides a new one behind an old one. So every rule is broken twice, beside things that look alike and break nothing.
"""

from typing import Any

import pytest
from build import anthropic, assistant, call, openai, read_turn, result, rollout, text, user
from test_validity import ASKED, CALLED, COMPACTION, DOCUMENT, FOUND, MARKED, OUTPUT, REASONING, SEARCH, UNSIGNED, image

from condense_cli.core.transcript import Place, Transcript
from condense_cli.rules.validity import RULES

TOO_LARGE = "At least one of the image dimensions exceed max allowed size: 8000 pixels"
SAID = "text content blocks must"
Rows = list[dict[str, Any]]


def block(record: int, *path: str | int) -> str:
    return str(Place(record, ("content", *path)))


def chat_calls(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": id, "function": {"name": "f", "arguments": "{}"}} for id in ids]}


def tool(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "r"}


def item(kind: dict[str, Any], id: str) -> dict[str, Any]:
    return {**kind, "call_id": id}


def violations(transcript: Transcript, rule: str) -> list[tuple[int, str, str]]:
    (check,) = [check for check in RULES[transcript.family] if check.__name__ == rule]
    found = list(check(transcript))
    assert {violation.rule for violation in found} <= {rule}
    return [(violation.message, violation.about, violation.said) for violation in found]


def without(id: str, message: int) -> tuple[int, str, str]:
    said = (
        f"messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    return message, id, said


def unexpected(id: str, message: int) -> tuple[int, str, str]:
    said = (
        f"messages.{message}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block "
        "must have a corresponding `tool_use` block in the previous message."
    )
    return message, id, said


def multiple(id: str, message: int) -> tuple[int, str, str]:
    said = "each tool_use must have a single result. Found multiple `tool_result` blocks with id:"
    return message, id, f"messages.{message}: {said} {id}"


def not_unique(id: str, message: int) -> tuple[int, str, str]:
    return message, id, f"messages.{message}: `tool_use` ids must be unique ({id})"


def searched(id: str, message: int) -> tuple[int, str, str]:
    said = f"messages.{message}: tool use with id `{id}` was found without a corresponding result block"
    return message, id, said


def late(id: str, message: int) -> tuple[int, str, str]:
    said = f"messages.{message}: `tool_result` blocks must come first in the content, before any text ({id})"
    return message, id, said


OF_ANTHROPIC: list[tuple[str, Rows, list[tuple[int, str, str]]]] = [
    (
        "first_message_from_user",
        [assistant("hello"), user("hi"), assistant("b")],
        [(0, "", "messages: first message must use the user role")],
    ),
    (
        "calls_answered_next",
        [
            user("a"),
            assistant([call("x"), call("y"), call("z")]),
            user([result("y")]),
            assistant([call("w")]),
            user("no result"),
            assistant([call("open")]),
        ],
        [without("x", 1), without("z", 1), without("w", 3)],
    ),
    (
        "results_follow_calls",
        [
            user("a"),
            assistant([call("y")]),
            user([result("x"), result("y"), result("z")]),
            assistant("b"),
            user([result("y")]),
        ],
        [unexpected("x", 2), unexpected("z", 2), unexpected("y", 4)],
    ),
    (
        "one_result_per_call",
        [
            user("a"),
            assistant([call("w"), call("x"), call("y")]),
            user([result("w"), result("x"), result("x"), result("y"), result("y"), result("y")]),
        ],
        [multiple("x", 2), multiple("y", 2)],
    ),
    (
        "call_ids_unique",
        [
            user("a"),
            *read_turn("x"),
            *read_turn("y"),
            *read_turn("x"),
            assistant([call("z"), call("z")]),
            user([result("z")]),
        ],
        [not_unique("x", 5), not_unique("z", 7)],
    ),
    (
        "results_come_first",
        [
            user("a"),
            assistant([call("x"), call("y"), call("z")]),
            user([result("x"), text("well"), result("y"), result("z")]),
            *read_turn("w"),
            assistant([call("v")]),
            user([text("well"), result("v")]),
        ],
        [late("y", 2), late("v", 6)],
    ),
    (
        "texts_not_blank",
        [
            user([text("a"), text(" \n"), text("b"), text("")]),
            assistant([call("x")]),
            user([result("x")]),
            assistant(" "),
        ],
        [
            (0, block(0, 1, "text"), f"messages.0: {SAID} contain non-whitespace text"),
            (0, block(0, 3, "text"), f"messages.0: {SAID} be non-empty"),
            (3, block(3), f"messages.3: {SAID} contain non-whitespace text"),
        ],
    ),
    (
        "messages_not_empty",
        [
            user("a"),
            assistant(""),
            user([text(""), text("")]),
            assistant("b"),
            user([text(""), text("c")]),
            assistant(""),
        ],
        [
            (
                message,
                "",
                f"messages.{message}: all messages must have non-empty content except for the optional final assistant "
                "message",
            )
            for message in (1, 2)
        ],
    ),
    (
        "server_calls_answered",
        [
            user("a"),
            assistant([SEARCH | {"id": "s1"}, text("b"), FOUND | {"tool_use_id": "s9"}, FOUND | {"tool_use_id": "s1"}]),
            user("c"),
            assistant([SEARCH | {"id": "s2"}, SEARCH | {"id": "s3"}]),
            user("d"),
            assistant([SEARCH | {"id": "s4"}]),
        ],
        [
            (
                1,
                "s9",
                "messages.1: unexpected `tool_use_id` found in `web_search_tool_result` blocks: s9. Each "
                "`web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
            ),
            searched("s2", 3),
            searched("s3", 3),
        ],
    ),
    (
        "documents_not_from_assistant",
        [user([DOCUMENT]), assistant([text("b"), DOCUMENT]), user([DOCUMENT]), assistant([DOCUMENT])],
        [
            (
                message,
                block(message, number),
                f"messages.{message}: `document` blocks are not allowed in assistant messages",
            )
            for message, number in ((1, 1), (3, 0))
        ],
    ),
    (
        "compaction_comes_first",
        [
            assistant([COMPACTION, COMPACTION]),
            user("a"),
            assistant([{"type": "compaction", "content": "old"}, COMPACTION]),
        ],
        [
            (
                message,
                block(message, 1),
                f"messages.{message}: compaction_block_misplaced: it must be the first block, and the only one",
            )
            for message in (0, 2)
        ],
    ),
    (
        "at_most_four_cache_marks",
        [
            user([text("a") | MARKED for _ in range(3)]),
            assistant("cache_control"),
            *(user([text("b") | MARKED]) for _ in "123"),
        ],
        [(2, "", "A maximum of 4 blocks with cache_control may be provided. Found 6.")],
    ),
    (
        "images_not_too_large",
        [user([image(9, 9), image(8_001, 9)]), assistant("b"), user([image(9, 9_999)])],
        [(0, block(0, 1), f"messages.0: {TOO_LARGE}"), (2, block(2, 0), f"messages.2: {TOO_LARGE}")],
    ),
    (
        "images_not_too_many",
        [user([image(9, 9)] * 300), assistant("b"), user([image(9, 9)] * 301)],
        [(0, "images", "messages: too much media: 601 images > 600")],
    ),
    (
        "thinking_is_signed",
        [user("a"), assistant([UNSIGNED, text("b")]), user("c"), assistant([UNSIGNED])],
        [
            (message, block(message, 0, "thinking"), f"messages.{message}: Invalid `signature` in `thinking` block")
            for message in (1, 3)
        ],
    ),
]

OF_CHAT: list[tuple[str, Rows, list[tuple[int, str, str]]]] = [
    (
        "tool_calls_answered",
        [user("a"), chat_calls("x", "y", "z"), tool("y"), chat_calls("v"), user("b"), chat_calls("open")],
        [
            (
                message,
                id,
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {id}",
            )
            for message, id in ((1, "x"), (1, "z"), (3, "v"))
        ],
    ),
    (
        "tool_messages_follow_calls",
        [user("a"), chat_calls("y"), tool("x"), tool("y"), tool("z"), assistant("b"), tool("y")],
        [
            (
                message,
                id,
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                f"'tool_calls'. ({id})",
            )
            for message, id in ((2, "x"), (2, "z"), (4, "y"))
        ],
    ),
    (
        "content_beside_no_calls",
        [
            user("a"),
            {"role": "assistant", "content": None},
            user("b"),
            chat_calls("x"),
            tool("x"),
            {"role": "assistant"},
        ],
        [
            (message, "", f"Invalid value for 'content': expected a string, got null. (messages.[{message}].content)")
            for message in (1, 5)
        ],
    ),
    (
        "one_result_per_call",
        [user("a"), chat_calls("x", "y"), tool("x"), tool("x"), tool("y"), tool("y")],
        [multiple("x", 2), multiple("y", 2)],
    ),
    (
        "call_ids_unique",
        [user("a"), chat_calls("x"), tool("x"), chat_calls("x"), tool("x"), chat_calls("z", "z"), tool("z")],
        [not_unique("x", 3), not_unique("z", 5)],
    ),
]

OF_RESPONSES: list[tuple[str, Rows, list[tuple[int, str, str]]]] = [
    (
        "outputs_have_calls",
        [
            ASKED,
            item(OUTPUT, "x"),
            item(CALLED, "x"),
            item(CALLED, "y"),
            item(OUTPUT, "y"),
            ASKED,
            item(OUTPUT, "x"),
            item(OUTPUT, "z"),
            item(CALLED, "z"),
        ],
        [
            (message, id, f"No tool call found for function call output with call_id {id}.")
            for message, id in ((1, "x"), (5, "z"))
        ],
    ),
    (
        "calls_have_outputs",
        [
            ASKED,
            item(CALLED, "x"),
            item(CALLED, "y"),
            item(OUTPUT, "y"),
            ASKED,
            item(CALLED, "z"),
            ASKED,
            item(CALLED, "open"),
        ],
        [(message, id, f"No tool output found for function call {id}.") for message, id in ((1, "x"), (4, "z"))],
    ),
    (
        "reasoning_is_followed",
        [ASKED, REASONING, ASKED, REASONING, CALLED, OUTPUT, REASONING],
        [
            (
                message,
                str(Place(record, ("payload",))),
                "Item of type 'reasoning' was provided without its required following item.",
            )
            for message, record in ((1, 1), (5, 6))
        ],
    ),
    (
        "one_result_per_call",
        [ASKED, CALLED, OUTPUT, OUTPUT, item(CALLED, "y"), item(OUTPUT, "y"), item(OUTPUT, "y")],
        [multiple("x", 2), multiple("y", 4)],
    ),
    ("call_ids_unique", [ASKED, CALLED, OUTPUT, CALLED, OUTPUT], [not_unique("x", 3)]),
]


@pytest.mark.parametrize(("rule", "messages", "expected"), OF_ANTHROPIC, ids=[row[0] for row in OF_ANTHROPIC])
def test_rules_of_anthropic(rule: str, messages: Rows, expected: list[tuple[int, str, str]]) -> None:
    assert violations(anthropic(*messages), rule) == expected


@pytest.mark.parametrize(("rule", "messages", "expected"), OF_CHAT, ids=[row[0] for row in OF_CHAT])
def test_rules_of_chat_completions(rule: str, messages: Rows, expected: list[tuple[int, str, str]]) -> None:
    assert violations(openai(*messages), rule) == expected


@pytest.mark.parametrize(("rule", "items", "expected"), OF_RESPONSES, ids=[row[0] for row in OF_RESPONSES])
def test_rules_of_responses(rule: str, items: Rows, expected: list[tuple[int, str, str]]) -> None:
    assert violations(rollout(*items), rule) == expected


# Those that are not here have tests of their own.
def test_every_rule_is_tested() -> None:
    names = {rule.__name__ for rules in RULES.values() for rule in rules}
    tested = {row[0] for row in (*OF_ANTHROPIC, *OF_CHAT, *OF_RESPONSES)}
    assert names - tested == {"thinking_bound_to_prefix", "request_not_too_large"}
