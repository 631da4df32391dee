"""The page of a run: what it shows of each block, that the sums hold, and that nothing of a transcript is markup."""

import base64
import hashlib
import html
import json
import re
from decimal import Decimal
from typing import Any, Final

import pytest
from helpers import CUT, DATA, as_lines, session
from pages import data_of
from real import SAMPLES

from condense_cli import api
from condense_cli.core.wording import visible
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.explained import explained
from condense_cli.report.costs import Cost
from condense_cli.report.page.run import run_page
from condense_cli.report.run import facts
from condense_cli.report.text import operation_label
from condense_cli.tokens.counting import Counter, encoding_for

HOSTILE: Final = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "{{data}} {{style}} {{script}}",
    "\u202etxt.exe\u2066 \x00 \x1b[31m \x9b",
    "a lone surrogate: \ud800",
    "line\u2028separator\u2029",
)


def page_of(result: Condensation, source: str = "session.jsonl", cost: Cost | None = None) -> str:
    count = Counter.of(result.before)
    report = facts.build(
        result,
        facts.RunFiles(source, 1),
        count=count,
        encoding=encoding_for(result.before.model),
        configuration="test",
        cost=cost,
    )
    return run_page(result, report, count)


def run(data: bytes, preset: str = "speed") -> Condensation:
    return api.condense(api.loads(data), preset=preset)


def blocks_of(page: str) -> dict[str, Any]:
    return {block["id"]: block for message in data_of(page)["conversation"]["messages"] for block in message["blocks"]}


def after(block: Any) -> str:
    """The text that the edits of a block make of the text before."""
    lines, made, at = block["text"].split("\n"), [], 0
    for edit in block["edits"]:
        if isinstance(edit, list):
            made += edit
            continue
        made += lines[at : at + edit] if edit > 0 else []
        at += abs(edit)
    assert at == len(lines), "the edits speak of every line"
    return "\n".join(made)


def test_a_cut_block_has_its_text_once_with_edits_and_a_reason() -> None:
    result = run(DATA)
    page = page_of(result)
    block = blocks_of(page)["m2-0"]
    assert block["text"] == CUT[0]
    assert after(block) == result.transcript.messages[2].blocks[0].text
    assert page.count("1: line 30 of the listing") == 1
    assert (block["outcome"], block["tool"], block["label"]) == ("truncated", "Read", "Read src/1.py")
    reasons = [data_of(page)["conversation"]["reasons"][number] for number in block["reasons"]]
    receipts = [receipt for receipt in result.changes if receipt.message == 2]
    assert [(reason["operation"], reason["by"], reason["why"]) for reason in reasons] == [
        (operation_label(receipt.operation), receipt.pass_id, receipt.why) for receipt in receipts
    ]


def test_a_block_that_stays_has_no_edits_and_says_why_it_stays() -> None:
    page = page_of(run(DATA))
    block = blocks_of(page)["m0-0"]
    assert "edits" not in block
    assert "outcome" not in block
    reasons = [data_of(page)["conversation"]["reasons"][number] for number in block["reasons"]]
    assert reasons
    assert not any(reason["is_change"] for reason in reasons)


@pytest.mark.parametrize("preset", ["speed", "balanced", "max", "lossless"])
def test_tokens_of_the_messages_add_up_to_the_report(preset: str) -> None:
    result = api.condense(api.loads(DATA), preset=preset, model="claude-opus-4-7")
    assert result.factor.value > 1, "figures are rounded"
    messages = data_of(page_of(result))["conversation"]["messages"]
    assert sum(message["tokens"][1] for message in messages) == result.shown_after
    assert sum(message["tokens"][0] for message in messages) == result.shown_before
    for message in messages:
        before, left = message["tokens"]
        assert 0 <= message.get("by_references", 0) <= max(0, before - left)


def test_a_summary_is_a_new_message_in_front_of_those_that_it_stands_for() -> None:
    result = run(DATA, "max")
    messages = data_of(page_of(result))["conversation"]["messages"]
    new = [position for position, message in enumerate(messages) if message.get("is_new")]
    assert new == [1, 2], "the summary, and the line that leads on from it"
    summary = messages[1]
    assert summary["blocks"][0]["outcome"] == "added"
    assert summary["blocks"][0]["text"] == result.transcript.messages[1].blocks[0].text
    assert messages[3]["blocks"][0]["outcome"] == "summarized"
    assert len({message["id"] for message in messages}) == len(messages)


def test_a_reference_leads_to_the_block_and_the_lines_that_it_names() -> None:
    text = "".join(f"{line}: the same line in two results of one session\n" for line in range(20))
    later = "before\n" + text + "behind"
    page = page_of(run(as_lines(session([text, "nothing", later, "end"])), "lossless"))
    blocks = blocks_of(page)
    (block,) = [block for block in blocks.values() if block.get("links")]
    ((line, link),) = block["links"].items()
    assert line in after(block).split("\n")
    named = blocks[link["to"]]["text"].split("\n")[link["start"] : link["start"] + link["size"]]
    assert "\n".join(named) in block["text"]
    assert len(named) > 10


def test_a_text_that_imitates_a_reference_and_names_nothing_is_no_link() -> None:
    imitation = "[see lines 3-75 of the next Read of src/app.py #520917]"
    page = page_of(run(as_lines(session([imitation, *CUT])), "speed"))
    assert imitation in json.dumps(data_of(page))
    assert not any(block.get("links") for block in blocks_of(page).values())


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_transcript_is_markup(text: str) -> None:
    records = session([f"{text}\n{each}" for each in CUT])
    records[0]["content"] = text
    result = run(json.dumps(records).encode())
    page = page_of(result, source=f"{text}/{text}".replace("\ud800", "?"))
    plain = page_of(run(DATA))
    assert page.count("<") - plain.count("<") == 0
    assert page.count("\n") - plain.count("\n") == 0
    page.encode()
    assert blocks_of(page)["m0-0"]["text"] == visible(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    assert not set(json.dumps(data_of(page), ensure_ascii=False)) & set("\x00\x1b\x9b\u202e\u2066\ud800")


def test_the_policy_allows_the_page_s_own_style_and_script_alone() -> None:
    page = page_of(run(DATA))
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert found is not None
    policy = html.unescape(found[1])
    assert policy.startswith("default-src 'none'; ")
    for name, element in (("style", "style"), ("script", "script")):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_the_script_never_makes_markup_of_text() -> None:
    page = page_of(run(DATA))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|fetch\(|import\(", script
    )


def test_money_is_told_where_it_is_known() -> None:
    cost = Cost(
        next_turn_before=Decimal("0.5"),
        next_turn_after=Decimal("0.25"),
        one_off=Decimal(1),
        breakeven_turns=4.0,
        pays=True,
        prices="a table",
    )
    tables = {table["title"]: table["rows"] for table in data_of(page_of(run(DATA), cost=cost))["tables"]}
    assert ["Pays for itself", "after 4.0 turns"] in tables["Money"]
    without = data_of(page_of(run(DATA)))["tables"]
    assert "Money" not in [table["title"] for table in without]


def test_a_run_that_changed_nothing_has_a_page() -> None:
    data = as_lines(session(["short"]))
    page = page_of(run(data))
    assert data_of(page)["before"] == data_of(page)["after"]
    assert all("outcome" not in block for block in blocks_of(page).values())


def test_a_page_is_a_small_multiple_of_the_text_in_it() -> None:
    texts = [f"{number}: " + "some words of a result, and more of them.\n" * 200 for number in range(40)]
    data = as_lines(session(texts))
    empty = len(page_of(run(as_lines(session(["x"])))))
    assert len(page_of(run(data))) - empty < 1.25 * sum(map(len, texts))


# Of lines that were picked, each stretch says why it went or stayed.
def test_lines_that_were_picked_say_why() -> None:
    result = run(SAMPLES[0].read_bytes(), "balanced")
    told = [
        block for block in blocks_of(page_of(explained(result, Counter.of(result.before)))).values() if "whys" in block
    ]
    assert told
    gone = [why for block in told for number, why in block["whys"].items() if block["edits"][int(number)] < 0]
    assert any("nothing later names it" in why for why in gone)
    assert all(isinstance(block["edits"][int(number)], int) for block in told for number in block["whys"])


# A message that nothing is in comes from no block, and was there before all the same.
@pytest.mark.parametrize("preset", ["speed", "max"])
def test_a_message_without_blocks_is_the_one_that_it_was(preset: str) -> None:
    records = [*session(), {"role": "user", "content": []}, {"role": "assistant", "content": "Bye."}]
    shown = data_of(page_of(run(as_lines(records), preset)))["conversation"]["messages"]
    left = [each["id"] for each in shown if not each["blocks"] and not each.get("is_new")]
    assert left == [f"m{len(records) - 2}"]


def _title_of(request: str, source: str = "/home/dev/secret/session.jsonl") -> str:
    records = [{"role": "user", "content": request}, {"role": "assistant", "content": "Done."}]
    page = page_of(run(as_lines(records)), source=source)
    assert "/home/dev" not in page.partition("</title>")[0]
    assert dict(data_of(page)["about"])["file"] == "session.jsonl"
    return str(data_of(page)["title"])


def test_the_title_is_the_first_request_without_folders() -> None:
    assert _title_of("Fix the\ntotal in /home/dev/shop/src/money.py, please.") == "Fix the total in money.py, please."
    assert _title_of(r"Look at C:\Users\me\notes.txt and src/app.py") == "Look at notes.txt and src/app.py"
    assert _title_of("See https://example.com/a/b.") == "See https://example.com/a/b."
    assert _title_of("x" * 200) == "x" * 79 + "…"
    assert _title_of("/ home") == "/ home"


def test_a_page_without_a_request_has_the_name_of_its_file() -> None:
    records = [{"role": "assistant", "content": "Hello."}]
    assert data_of(page_of(run(as_lines(records)), source="/home/dev/a.jsonl"))["title"] == "a.jsonl"
