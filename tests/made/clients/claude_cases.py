"""Small sessions of Claude Code, each about one rule by which the client makes messages of a file.

`tests/formats/clients/test_claude_chain.py` holds our reader against them, `tests/client` the client itself.
"""

from build import call, result, text, thinking
from claude_tree import GO, OLD, OLD_TURNS, OTHER_TURNS, Case, answer, prompt_note, queued, record, reply, said, uuid
from compaction_cases import COMPACTED
from kind_cases import SENT_OR_NOT

TWO_BRANCHES = [*OLD, said(5, 2, "instead"), reply(6, 5, "m3", text("other"))]

CASES: dict[str, Case] = {
    "results of parallel calls hang beside the path": Case(
        [
            GO,
            reply(2, 1, "m1", call("a")),
            reply(3, 2, "m1", call("b")),
            reply(4, 3, "m1", call("c")),
            answer(5, 4, "c"),
            answer(6, 2, "a"),
            answer(7, 3, "b"),
            reply(8, 7, "m2", text("done")),
        ],
        [["go"], ["a", "b", "c"], ["c", "a", "b"], ["done"]],
    ),
    "results stand between the lines of a reply": Case(
        [
            GO,
            reply(2, 1, "m1", call("a")),
            answer(3, 2, "a"),
            reply(4, 3, "m1", call("b")),
            answer(5, 4, "b"),
            reply(6, 5, "m2", text("done")),
        ],
        [["go"], ["a", "b"], ["a", "b"], ["done"]],
    ),
    "a word of the user beside a result does not end a reply": Case(
        [
            GO,
            reply(2, 1, "m1", call("a")),
            said(3, 2, [result("a", "result of a"), text("hurry")]),
            reply(4, 3, "m1", call("b")),
            answer(5, 4, "b"),
            reply(6, 5, "m2", text("done")),
        ],
        [["go"], ["a", "b"], ["a", "b", "hurry"], ["done"]],
    ),
    "a word of the user alone ends a reply": Case(
        [GO, reply(2, 1, "m1", text("one")), said(3, 2, "wait"), reply(4, 3, "m1", text("two"))],
        [["go"], ["one"], ["wait"], ["two"]],
    ),
    "a reply goes on behind another one": Case(
        [
            GO,
            reply(2, 1, "m1", call("a")),
            answer(3, 2, "a"),
            reply(4, 3, "m2", call("b")),
            answer(5, 4, "b"),
            reply(6, 5, "m1", text("late")),
            said(7, 6, "next"),
            reply(8, 7, "m3", text("done")),
        ],
        [["go"], ["a", "late"], ["a"], ["b"], ["b", "next"], ["done"]],
    ),
    "a call behind another reply is answered before that reply": Case(
        [
            GO,
            reply(2, 1, "m1", text("one")),
            reply(3, 2, "m2", call("a")),
            reply(4, 3, "m1", call("b")),
            answer(5, 4, "a"),
            answer(6, 5, "b"),
            reply(7, 6, "m3", text("done")),
        ],
        [["go"], ["one", "b"], ["a"], ["a"], ["done"]],
    ),
    "two replies in turns, and then their results": Case(
        [
            GO,
            reply(2, 1, "m1", call("a")),
            reply(3, 2, "m2", call("b")),
            reply(4, 3, "m1", call("c")),
            reply(5, 4, "m2", text("two")),
            *(answer(number, number - 1, name) for number, name in ((6, "a"), (7, "b"), (8, "c"))),
            reply(9, 8, "m3", text("done")),
        ],
        [["go"], ["a", "c"], ["b", "two"], ["b"], ["done"]],
    ),
    "what was said beside the last result is sent once": Case(
        [*OLD, said(5, 4, "again"), reply(6, 5, "m3", call("a")), answer(7, 6, "a"), queued(8, 7, "hurry")],
        [*OLD_TURNS, ["again"], ["a"], ["a", "hurry"]],
    ),
    "text between calls": Case(
        [
            GO,
            reply(2, 1, "m1", text("one")),
            reply(3, 2, "m1", call("a")),
            reply(4, 3, "m1", text("two")),
            reply(5, 4, "m1", call("b")),
            answer(6, 5, "a"),
            answer(7, 6, "b"),
            reply(8, 7, "m2", text("done")),
        ],
        [["go"], ["one", "a", "two", "b"], ["a", "b"], ["done"]],
    ),
    "thinking between calls": Case(
        [
            GO,
            reply(2, 1, "m1", thinking("first")),
            reply(3, 2, "m1", call("a")),
            answer(4, 3, "a"),
            reply(5, 4, "m1", thinking("second")),
            reply(6, 5, "m1", text("two")),
            reply(7, 6, "m1", call("b")),
            answer(8, 7, "b"),
            reply(9, 8, "m2", text("done")),
        ],
        [["go"], ["first", "a", "second", "two", "b"], ["a", "b"], ["done"]],
    ),
    "blank texts are left out": Case(
        [
            GO,
            reply(2, 1, "m1", text("\n\n")),
            reply(3, 2, "m1", text("one")),
            said(4, 3, "more"),
            reply(5, 4, "m2", text("(no content)")),
            said(6, 5, "still"),
            reply(7, 6, "m3", text("done")),
        ],
        [["go"], ["one"], ["more", "still"], ["done"]],
    ),
    "thinking that nothing follows is left out": Case(
        [GO, reply(2, 1, "m1", thinking()), said(3, 2, "well?"), reply(4, 3, "m2", text("done"))],
        [["go", "well?"], ["done"]],
    ),
    "thinking of another model is left out": Case(
        [
            GO,
            reply(2, 1, "m1", thinking("long ago"), model="claude-opus-4-1-20250805"),
            reply(3, 2, "m1", text("one"), model="claude-opus-4-1-20250805"),
            said(4, 3, "more"),
            reply(5, 4, "m2", thinking("just now")),
            reply(6, 5, "m2", text("two")),
        ],
        [["go"], ["one"], ["more"], ["just now", "two"]],
    ),
    "calls that were never answered are left out": Case(
        [
            GO,
            reply(2, 1, "m1", call("a")),
            reply(3, 2, "m1", call("b")),
            answer(4, 3, "a"),
            reply(5, 4, "m2", thinking()),
            reply(6, 5, "m2", call("c")),
            said(7, 6, "more"),
            reply(8, 7, "m3", text("done")),
        ],
        [["go"], ["a"], ["a", "more"], ["done"]],
    ),
    "results without a call are left out": Case(
        [
            GO,
            reply(2, 1, "m1", call("a")),
            answer(3, 2, "a"),
            reply(4, 3, "m2", text("one")),
            said(5, 4, [result("lost"), text("more")]),
            reply(6, 5, "m3", text("two")),
        ],
        [["go"], ["a"], ["a"], ["one"], ["more"], ["two"]],
    ),
    "a call is answered once": Case(
        [GO, reply(2, 1, "m1", call("a")), answer(3, 2, "a"), answer(4, 3, "a"), reply(5, 4, "m2", text("done"))],
        [["go"], ["a"], ["a"], ["done"]],
    ),
    "a word between call and result stands behind the result": Case(
        [
            GO,
            reply(2, 1, "m1", call("a")),
            said(3, 2, "wait"),
            answer(4, 3, "a"),
            reply(5, 4, "m2", text("done")),
        ],
        [["go"], ["a"], ["a", "wait"], ["done"]],
    ),
    "what a command of the client printed is sent": Case(
        [
            *OLD[:2],
            record(3, 2, "system", subtype="local_command", content="<local-command-stdout>x</local-command-stdout>"),
            record(4, 3, "system", subtype="informational", content="not for the model"),
            said(5, 4, "next"),
            reply(6, 5, "m2", text("two")),
        ],
        [["go"], ["one"], ["<local-command-stdout>x</local-command-stdout>", "next"], ["two"]],
    ),
    "the client's own notices of errors are left out": Case(
        [
            *OLD[:3],
            reply(4, 3, "m2", text("API Error: 500"), model="<synthetic>", isApiErrorMessage=True),
            said(5, 4, "again"),
            reply(6, 5, "m3", text("two")),
        ],
        [["go"], ["one"], ["more", "again"], ["two"]],
    ),
    "what the client said itself is sent": Case(
        [
            *OLD[:3],
            reply(4, 3, "m2", text("No response requested."), model="<synthetic>"),
            said(5, 4, "again"),
            reply(6, 5, "m3", text("two")),
        ],
        [["go"], ["one"], ["more"], ["No response requested."], ["again"], ["two"]],
    ),
    "an answer that was taken back is left out": Case(
        [
            *OLD[:3],
            reply(4, 3, "m2", text("I will not")),
            record(5, 4, "system", subtype="model_refusal_fallback", content="", retractedMessageUuids=[uuid(4)]),
            reply(6, 5, "m3", text("two")),
        ],
        OLD_TURNS,
    ),
    "the newest branch is the conversation": Case(TWO_BRANCHES, OTHER_TURNS),
    "a named branch is the conversation": Case([*TWO_BRANCHES, prompt_note(4)], OLD_TURNS),
    "what continues a named branch belongs to it": Case(
        [*OLD, prompt_note(4), said(5, 4, "again"), reply(6, 5, "m3", text("three"))],
        [*OLD_TURNS, ["again"], ["three"]],
    ),
    "a name that nothing bears names nothing": Case([*TWO_BRANCHES, prompt_note(77)], OTHER_TURNS),
    "a message that is named explicitly is the last": Case([*OLD, prompt_note(2, explicit=True)], OLD_TURNS[:2]),
    "what comes after an explicit name counts": Case(
        [*OLD, prompt_note(2, explicit=True), said(5, 2, "instead"), reply(6, 5, "m3", text("other"))], OTHER_TURNS
    ),
    "a session that was cleared is empty": Case([*OLD, prompt_note(None, explicit=True)], []),
    "a missing parent is bridged where little time has passed": Case(
        [*OLD[:2], said(3, 77, "more"), reply(4, 3, "m2", text("two"))], OLD_TURNS
    ),
    "a missing parent ends the chain where time has passed": Case(
        [*OLD[:2], said(3, 77, "more", second=60), reply(4, 3, "m2", text("two"), second=61)], OLD_TURNS[2:]
    ),
    "progress in the tree is passed over": Case(
        [*OLD[:2], record(5, 2, "progress", data={}), said(3, 5, "more"), reply(4, 3, "m2", text("two"))], OLD_TURNS
    ),
    "a record that was written again counts as it was written last": Case(
        [*OLD, said(3, 2, "more, please"), OLD[3]], [["go"], ["one"], ["more, please"], ["two"]]
    ),
    "lines of sub-agents are left out": Case(
        [
            *OLD[:2],
            said(5, None, "aside", isSidechain=True),
            reply(6, 5, "m9", text("from aside"), isSidechain=True),
            *OLD[2:],
        ],
        OLD_TURNS,
    ),
    "what continues a sub-agent's line brings it along": Case(
        [
            said(1, None, "go", isSidechain=True),
            reply(2, 1, "m1", text("one"), isSidechain=True),
            said(3, 2, "more"),
            reply(4, 3, "m2", text("two")),
            said(5, 2, "aside", isSidechain=True),
        ],
        OLD_TURNS,
    ),
    **COMPACTED,
    **SENT_OR_NOT,
}

OPEN_AT_THE_END = Case(
    [
        *OLD,
        said(5, 4, "again"),
        reply(6, 5, "m3", call("a")),
        reply(7, 6, "m3", call("b")),
        answer(8, 7, "a"),
        reply(9, 8, "m4", call("c")),
    ],
    [*OLD_TURNS, ["again"], ["a", "b"], ["a"], ["c"]],
)
"""A session that ended while it worked. Clients as old as 2.1.197 leave its open calls out."""
