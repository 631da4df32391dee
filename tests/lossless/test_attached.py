"""Texts that Claude Code attaches again and again, such as a file with instructions: older ones refer to the newest."""

import json

import laws
import pytest
from build import call, configuration, one_pass, result, text
from claude_tree import GO, Json, reply, said
from kind_cases import attached

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.lossless.references import Addresses, TextPlace
from condense_cli.passes.condensation import Condensation

RULES = "\n".join(f"Rule {number}: never use tool {number * 37} on a Monday." for number in range(30))
PATH = "/srv/p/CLAUDE.md"
LOSSLESS = configuration(lossless_prelude={})


def memory(words: str = RULES, path: str = PATH) -> tuple[str, Json]:
    return "nested_memory", {"path": path, "content": {"path": path, "type": "Project", "content": words}}


def session(*kinds: tuple[str, Json]) -> Transcript:
    """A request, and each attachment in a turn of its own; then turns enough to be no newest ones."""
    records = [GO, reply(2, 1, "m0", text("I begin."))]
    for kind, keys in kinds:
        number = len(records)
        records += [
            said(number + 1, number, f"go on {number}"),
            attached(number + 2, number + 1, kind, keys),
            reply(number + 3, number + 2, f"m{number}", text(f"Step {number}.")),
        ]
    for number in range(len(records), len(records) + 6, 2):
        records += [
            said(number + 1, number, f"more {number}"),
            reply(number + 2, number + 1, f"m{number}", text("Yes.")),
        ]
    return loaded(records)


def loaded(records: list[Json]) -> Transcript:
    return api.loads("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in records))


def attachments(transcript: Transcript) -> list[str]:
    return [block.text for _, block in transcript.blocks() if block.kind is BlockKind.OPAQUE]


def lossless(transcript: Transcript) -> Condensation:
    return laws.check_all(transcript, LOSSLESS)


def test_older_ones_refer_to_the_newest() -> None:
    whole = session(*[memory()] * 3)
    condensed = lossless(whole)
    first, second, newest = attachments(condensed.transcript)
    assert newest == f"{PATH}\n{RULES}"
    head = f"{PATH}\nRule 0: never use tool 0 on a Monday.\n"
    assert first.startswith(f"{head}[see lines 3-31 of the 2nd next attached p/CLAUDE.md #")
    assert second.startswith(f"{head}[see lines 3-31 of the next attached p/CLAUDE.md #")
    assert api.dump(api.restore(condensed.transcript).transcript) == whole.source.data


# The client builds these texts anew from other values: its own words, a numbered file, a list.
@pytest.mark.parametrize(
    ("kind", "keys", "is_sent_so"),
    [
        ("skill_listing", {"content": f"- /srv/greet: greets\n{RULES}"}, True),
        ("edited_text_file", {"filename": "/srv/a.py", "snippet": RULES}, True),
        ("hook_additional_context", {"content": ["/srv/one", RULES]}, True),
        (
            "file",
            {"filename": "a.py", "content": {"type": "text", "file": {"filePath": "a.py", "content": RULES}}},
            False,
        ),
        ("queued_command", {"prompt": RULES, "commandMode": "prompt"}, False),
    ],
)
def test_what_is_sent_as_it_is_in_the_file_may_refer(kind: str, keys: Json, is_sent_so: bool) -> None:
    condensed = lossless(session(*[(kind, keys)] * 2))
    assert bool(condensed.changes) is is_sent_so


def test_rendered_words_stay() -> None:
    kind, keys = memory()
    rendered = [{"content": f"<system-reminder>\nContents of {PATH}:\n\n{RULES}\n</system-reminder>"}]
    turns = [
        record
        for number in (1, 4, 7, 10, 13)
        for record in (
            attached(number + 1, number, kind, keys, rendered=rendered, renderedRole="user"),
            reply(number + 2, number + 1, f"m{number}", text("Yes.")),
            said(number + 3, number + 2, f"more {number}"),
        )
    ]
    assert lossless(loaded([GO, *turns])).changes == []


# A file that was read and is attached later, or the other way round: the attached one may refer, not the result.
def test_an_attached_text_refers_to_results_too() -> None:
    read = [
        reply(30, 20, "r", call("c", file_path=PATH)),
        said(31, 30, [result("c", RULES)]),
        *(
            each
            for n in range(32, 40, 2)
            for each in (reply(n, n - 1, f"m{n}", text("Yes.")), said(n + 1, n, f"on {n}"))
        ),
    ]
    kind, keys = memory()
    before = [GO, reply(2, 1, "m0", text("I begin.")), said(3, 2, "on"), attached(20, 3, kind, keys)]
    condensed = lossless(loaded([*before, *read]))
    [told] = attachments(condensed.transcript)
    assert "[see lines 2-30 of the next Read of p/CLAUDE.md #" in told


# No pass cuts them, and a name depends on what stays.
def test_passes_leave_them_alone() -> None:
    everything = one_pass(selection={"type": "custom"})
    whole = session(*[memory()] * 2)
    assert (
        lossless(whole).tokens_after
        == laws.check_all(whole, configuration(everything, lossless_prelude={})).tokens_after
    )
    for transcript in (whole, lossless(whole).transcript):
        places = [
            TextPlace(message.index, number)
            for message in transcript.messages
            for number, block in enumerate(message.blocks)
            if block.kind is BlockKind.OPAQUE
        ]
        assert {Addresses(transcript.messages).name_of(place) for place in places} == {"attached p/CLAUDE.md"}


@pytest.mark.parametrize("words", ["a" * 50_000, "~." * 20_000, "a/" * 20_000, "/" * 50_000])
def test_any_text_has_a_name(words: str) -> None:
    transcript = session(("skill_listing", {"content": words}))
    position = next(message.index for message, block in transcript.blocks() if block.kind is BlockKind.OPAQUE)
    assert Addresses(transcript.messages).name_of(TextPlace(position, 1)).startswith("attached ")
