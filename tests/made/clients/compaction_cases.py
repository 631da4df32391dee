"""Small sessions of Claude Code that the client compacted: where the conversation begins, and what stays before it."""

from build import text
from claude_tree import OLD, OLD_TURNS, OTHER_TURNS, Case, boundary, chain, prompt_note, reply, said, summary, uuid

SUMMED = [["the summary", "next"], ["three"]]

COMPACTED: dict[str, Case] = {
    "a compact boundary begins anew": Case(
        [*OLD, boundary(5), summary(6, 5), *chain("next / m3: three", start=7)], SUMMED
    ),
    "a branch that goes around the boundary is sent whole": Case(
        [*OLD, boundary(5), summary(6, 5), said(7, 2, "instead"), reply(8, 7, "m3", text("other"))], OTHER_TURNS
    ),
    "a boundary that nothing follows cuts nothing off": Case([*OLD, boundary(5)], OLD_TURNS),
    "messages that a boundary lists stay": Case(
        [
            *OLD,
            boundary(5, preservedMessages={"anchorUuid": uuid(6), "uuids": [uuid(3), uuid(4)]}),
            summary(6, 5),
            *chain("next / m3: three", start=7),
        ],
        [["the summary", "more"], ["two"], ["next"], ["three"]],
    ),
    "a piece of the chain that a boundary names stays": Case(
        [
            *OLD,
            boundary(
                5, preservedSegment={"headUuid": uuid(3), "anchorUuid": uuid(6), "tailUuid": uuid(4)}, preTokens=9
            ),
            summary(6, 5),
            said(7, 4, "next"),
            reply(8, 7, "m3", text("three")),
        ],
        [["the summary", "more"], ["two"], ["next"], ["three"]],
    ),
    "thinking among the messages that stay": Case(
        [
            *chain("go / m1 thinks first / m1: one / more / m2 thinks second / m2: two"),
            boundary(
                7, preservedMessages={"anchorUuid": uuid(8), "uuids": [*map(uuid, range(2, 7))], "allUuids": [uuid(2)]}
            ),
            summary(8, 7),
            *chain("next / m3: three", start=9),
        ],
        [["the summary"], ["first", "one"], ["more"], ["second", "two"], ["next"], ["three"]],
    ),
    "thinking at both ends of a piece that stays": Case(
        [
            *chain("go / m1 thinks first / m1: one / more / m2: two / m2 thinks second"),
            boundary(7, preservedSegment={"headUuid": uuid(2), "anchorUuid": uuid(8), "tailUuid": uuid(6)}),
            summary(8, 7),
            said(9, 6, "next"),
            reply(10, 9, "m3", text("three")),
        ],
        [["the summary"], ["first", "one"], ["more"], ["two", "second"], ["next"], ["three"]],
    ),
    "a list with a message that is missing keeps nothing": Case(
        [
            *OLD,
            boundary(5, preservedMessages={"anchorUuid": uuid(6), "uuids": [uuid(3), uuid(77)]}),
            summary(6, 5),
            *chain("next / m3: three", start=7),
        ],
        SUMMED,
    ),
    "only the last boundary keeps messages": Case(
        [
            *OLD,
            boundary(5, preservedMessages={"anchorUuid": uuid(6), "uuids": [uuid(3), uuid(4)]}),
            summary(6, 5),
            boundary(9),
            summary(10, 9),
            *chain("next / m3: three", start=11),
        ],
        SUMMED,
    ),
    "a leaf is the end where messages were kept": Case(
        [
            *OLD,
            boundary(5, preservedMessages={"anchorUuid": uuid(6), "uuids": [uuid(4)]}),
            summary(6, 5),
            said(7, 4, "next"),
            reply(8, 7, "m3", text("three")),
            said(9, 4, "other"),
            prompt_note(8),
        ],
        [["the summary"], ["two"], ["next"], ["three"]],
    ),
}
