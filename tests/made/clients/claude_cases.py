"""Small sessions of Claude Code, each about one rule by which the client makes messages of a file.

`tests/formats/clients/test_claude_chain.py` holds our reader against them, `tests/client` the client itself.
"""

from build import result, text, thinking
from claude_tree import (
    GO,
    OLD,
    OLD_TURNS,
    OTHER_TURNS,
    Case,
    answer,
    chain,
    prompt_note,
    queued,
    record,
    reply,
    said,
    uuid,
)
from compaction_cases import COMPACTED
from kind_cases import SENT_OR_NOT

TWO_BRANCHES = [*OLD, said(5, 2, "instead"), reply(6, 5, "m3", text("other"))]

CASES: dict[str, Case] = {
    "results of parallel calls hang beside the path": Case(
        [
            *chain("go / m1 calls a / m1 calls b / m1 calls c / c answers"),
            answer(6, 2, "a"),
            answer(7, 3, "b"),
            reply(8, 7, "m2", text("done")),
        ],
        [["go"], ["a", "b", "c"], ["c", "a", "b"], ["done"]],
    ),
    "results stand between the lines of a reply": Case(
        chain("go / m1 calls a / a answers / m1 calls b / b answers / m2: done"),
        [["go"], ["a", "b"], ["a", "b"], ["done"]],
    ),
    "a word of the user beside a result does not end a reply": Case(
        [
            *chain("go / m1 calls a"),
            said(3, 2, [result("a", "result of a"), text("hurry")]),
            *chain("m1 calls b / b answers / m2: done", start=4),
        ],
        [["go"], ["a", "b"], ["a", "b", "hurry"], ["done"]],
    ),
    "a word of the user alone ends a reply": Case(
        chain("go / m1: one / wait / m1: two"), [["go"], ["one"], ["wait"], ["two"]]
    ),
    "a reply goes on behind another one": Case(
        chain("go / m1 calls a / a answers / m2 calls b / b answers / m1: late / next / m3: done"),
        [["go"], ["a", "late"], ["a"], ["b"], ["b", "next"], ["done"]],
    ),
    "a call behind another reply is answered before that reply": Case(
        chain("go / m1: one / m2 calls a / m1 calls b / a answers / b answers / m3: done"),
        [["go"], ["one", "b"], ["a"], ["a"], ["done"]],
    ),
    "two replies in turns, and then their results": Case(
        chain("go / m1 calls a / m2 calls b / m1 calls c / m2: two / a answers / b answers / c answers / m3: done"),
        [["go"], ["a", "c"], ["b", "two"], ["b"], ["done"]],
    ),
    "what was said beside the last result is sent once": Case(
        [*OLD, *chain("again / m3 calls a / a answers", start=5), queued(8, 7, "hurry")],
        [*OLD_TURNS, ["again"], ["a"], ["a", "hurry"]],
    ),
    "text between calls": Case(
        chain("go / m1: one / m1 calls a / m1: two / m1 calls b / a answers / b answers / m2: done"),
        [["go"], ["one", "a", "two", "b"], ["a", "b"], ["done"]],
    ),
    "thinking between calls": Case(
        chain(
            "go / m1 thinks first / m1 calls a / a answers / m1 thinks second / m1: two / m1 calls b",
            "b answers / m2: done",
        ),
        [["go"], ["first", "a", "second", "two", "b"], ["a", "b"], ["done"]],
    ),
    "blank texts are left out": Case(
        [GO, reply(2, 1, "m1", text("\n\n")), *chain("m1: one / more / m2: (no content) / still / m3: done", start=3)],
        [["go"], ["one"], ["more", "still"], ["done"]],
    ),
    "thinking that nothing follows is left out": Case(
        [GO, reply(2, 1, "m1", thinking()), *chain("well? / m2: done", start=3)], [["go", "well?"], ["done"]]
    ),
    "thinking of another model is left out": Case(
        [
            GO,
            reply(2, 1, "m1", thinking("long ago"), model="claude-opus-4-1-20250805"),
            reply(3, 2, "m1", text("one"), model="claude-opus-4-1-20250805"),
            *chain("more / m2 thinks just now / m2: two", start=4),
        ],
        [["go"], ["one"], ["more"], ["just now", "two"]],
    ),
    "calls that were never answered are left out": Case(
        [
            *chain("go / m1 calls a / m1 calls b / a answers"),
            reply(5, 4, "m2", thinking()),
            *chain("m2 calls c / more / m3: done", start=6),
        ],
        [["go"], ["a"], ["a", "more"], ["done"]],
    ),
    "results without a call are left out": Case(
        [
            *chain("go / m1 calls a / a answers / m2: one"),
            said(5, 4, [result("lost"), text("more")]),
            reply(6, 5, "m3", text("two")),
        ],
        [["go"], ["a"], ["a"], ["one"], ["more"], ["two"]],
    ),
    "a call is answered once": Case(
        chain("go / m1 calls a / a answers / a answers / m2: done"), [["go"], ["a"], ["a"], ["done"]]
    ),
    "a word between call and result stands behind the result": Case(
        chain("go / m1 calls a / wait / a answers / m2: done"), [["go"], ["a"], ["a", "wait"], ["done"]]
    ),
    "what a command of the client printed is sent": Case(
        [
            *OLD[:2],
            record(3, 2, "system", subtype="local_command", content="<local-command-stdout>x</local-command-stdout>"),
            record(4, 3, "system", subtype="informational", content="not for the model"),
            *chain("next / m2: two", start=5),
        ],
        [["go"], ["one"], ["<local-command-stdout>x</local-command-stdout>", "next"], ["two"]],
    ),
    "the client's own notices of errors are left out": Case(
        [
            *OLD[:3],
            reply(4, 3, "m2", text("API Error: 500"), model="<synthetic>", isApiErrorMessage=True),
            *chain("again / m3: two", start=5),
        ],
        [["go"], ["one"], ["more", "again"], ["two"]],
    ),
    "what the client said itself is sent": Case(
        [
            *OLD[:3],
            reply(4, 3, "m2", text("No response requested."), model="<synthetic>"),
            *chain("again / m3: two", start=5),
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
        [*OLD, prompt_note(4), *chain("again / m3: three", start=5)], [*OLD_TURNS, ["again"], ["three"]]
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
            *chain("more / m2: two", start=3),
            said(5, 2, "aside", isSidechain=True),
        ],
        OLD_TURNS,
    ),
    **COMPACTED,
    **SENT_OR_NOT,
}

OPEN_AT_THE_END = Case(
    [*OLD, *chain("again / m3 calls a / m3 calls b / a answers / m4 calls c", start=5)],
    [*OLD_TURNS, ["again"], ["a", "b"], ["a"], ["c"]],
)
"""A session that ended while it worked. Clients as old as 2.1.197 leave its open calls out."""
