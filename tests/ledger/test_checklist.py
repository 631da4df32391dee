"""The list, made without a model, of items that a summary must hold."""

import pytest
from build import anthropic, assistant, call, result, text, user

from condense_cli.ledger.checklist import Checklist, of_messages, of_text
from condense_cli.ledger.collect import collect
from condense_cli.ledger.entries import CommandEntry, FileEntry, Ledger, UserRequest
from condense_cli.ledger.text import fit, render
from condense_cli.tokens.counting import Counter

SHARE = 0.2

LOG = """============================= test session starts ==============================
collected 214 items
tests/test_pricing.py::test_discount_is_rounded FAILED
tests/test_pricing.py::test_vat_of_zero PASSED
>       assert apply_discount(Decimal("9.99"), rate) == Decimal("8.99")
E       AssertionError: assert Decimal('8.991') == Decimal('8.99')
src/shop/pricing.py:41: AssertionError
FAILED tests/test_pricing.py::test_discount_is_rounded - AssertionError
========================= 1 failed, 213 passed in 4.31s =========================
"""
LISTING = "\n".join(f"-rw-r--r-- 1 dev dev 812 src/handlers/handler_{number:03}.go" for number in range(200))
PROSE = """I would leave the cache alone for now. Customers complained about slow searches in spring, but the
measurements blamed the network. Whoever changes the eviction should first ask the operations people, because
they planned their maintenance around it."""
SPOKEN = "Покупатели жаловались на медленный поиск, но измерения показали, что виновата сеть. " * 3


def checklist(source: str, max_tokens: int = 100, share: float = SHARE) -> Checklist:
    found = of_text(source, share, max_tokens)
    assert found
    return found


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        (LOG, "1 of 214 tests failed: test_discount_is_rounded, 8.991 instead of 8.99 in pricing.py:41."),
        (LOG, "Only `apply_discount` is wrong (tests/test_pricing.py): it does not round."),
        (LISTING, "200 Go files, from handler_000.go to handler_199.go, all in src/handlers."),
        (PROSE, "The cache stays: measurements blame the network. Ask operations before changing eviction."),
        (SPOKEN, "Поиск был медленным из-за сети, так показали измерения покупателям."),
    ],
)
def test_honest_short_summaries_hold_enough(source: str, summary: str) -> None:
    assert checklist(source).holds_enough(summary)


@pytest.mark.parametrize("source", [LOG, LISTING, PROSE, SPOKEN])
@pytest.mark.parametrize(
    "summary", ["banana banana", "The user asked for some work, which was then done.", "42 213 9 and 1."]
)
def test_summaries_that_say_nothing_do_not(source: str, summary: str) -> None:
    assert not checklist(source).holds_enough(summary)


# Of a language without blanks between words, and of hardly any text, nothing can be asked.
@pytest.mark.parametrize("source", ["", "7", "今天我们讨论了缓存的问题,决定先不改动它。"])
def test_where_nothing_can_be_asked_for_there_is_no_list(source: str) -> None:
    assert of_text(source, SHARE, 100) is None


def test_a_share_of_nothing_asks_for_nothing() -> None:
    assert of_text(LOG, 0, 100) is None
    assert of_messages(anthropic(user(LOG)).messages, Ledger(), 0, 100) is None


def test_a_long_text_asks_for_no_more_than_a_short_summary_has_room_for() -> None:
    names = [f"handler_{number:03}.go" for number in range(200)]
    assert checklist(LISTING, 4_000).holds_enough(" ".join(names[50:54]))
    assert not checklist(LISTING, 4_000).holds_enough(" ".join(names[50:53]))
    assert checklist(LISTING, 50).holds_enough(names[7])
    assert checklist(LISTING, 4_000, 1.0).holds_enough(" ".join(names[:20]))
    assert not checklist(LISTING, 4_000, 1.0).holds_enough(" ".join(names[:19]))


def test_files_are_known_without_their_folders_and_as_names() -> None:
    (item, *_) = checklist("Changed src/shop/pricing.py\n" * 3 + "load_all( load_all(").items
    assert item.text == "src/shop/pricing.py"
    for said in ("in pricing.py.", "`src/shop/pricing.py`", "shop/pricing.py, too"):
        assert item not in checklist("Changed src/shop/pricing.py").missing(said)


def test_of_messages_it_asks_for_what_the_ledger_names_and_for_what_was_said() -> None:
    messages = anthropic(
        user("Never touch config/legacy.toml."),
        assistant([call("a", "Edit", file_path="src/a.py", old_string="x", new_string="y")]),
        user([result("a", "only_printed in the output")]),
        assistant([call("b", "Bash", command="make check")]),
        user([result("b", "Error: missing_symbol", is_error=True)]),
        assistant([call("c", "TodoWrite", todos=[
            {"content": "Write the release notes", "status": "pending"},
            {"content": "Read everything", "status": "completed"},
        ])]),
        user([result("c", "ok")]),
        assistant([text("The cause is retry_loop in worker_pool.")]),
    ).messages  # fmt: skip
    found = of_messages(messages, collect(messages), SHARE, 4_000)
    assert found
    asked = [item.text for item in found.items]
    entries = ["src/a.py", "Error: missing_symbol", "Write the release notes", "Never touch config/legacy.toml."]
    assert asked[:4] == entries
    assert [bool(item.entry) for item in found.items[:5]] == [True] * 4 + [False]
    assert {"retry_loop", "worker_pool", "only_printed"} < set(asked)
    assert asked.index("retry_loop") < asked.index("only_printed")
    assert "Read everything" not in asked


# Sets have another order in each process, and then the second request would be another one in each.
def test_among_equals_the_first_comes_first() -> None:
    names = [f"name_{number}" for number in range(30)]
    printed = [f"printed_{number}" for number in range(30)]
    for share, most in ((SHARE, 100), (1.0, 4_000)):
        assert [item.text for item in checklist(" ".join(names), most, share).items] == names
    records = [user(" ".join(names)), assistant([call("a")]), user([result("a", " ".join(printed))])]
    found = of_messages(anthropic(*records).messages, Ledger(), SHARE, 4_000)
    assert found
    assert [item.text for item in found.items if "_" in item.text] == names + printed


def test_a_ledger_says_what_words_need_not_but_words_say_something() -> None:
    messages = anthropic(user("Please fix the_rounding in src/shop/pricing.py."), assistant([text("Yes.")])).messages
    ledger = collect(messages)
    found = of_messages(messages, ledger, 1.0, 4_000)
    assert found
    assert not found.holds_enough("It is about pricing.py.")
    assert found.holds_enough("It is about pricing.py.", render(ledger))
    assert not found.holds_enough("banana banana", render(ledger))


# What the words lack stays longest in a ledger that has little room.
def test_what_is_wanted_is_given_up_last() -> None:
    count = Counter()
    files = tuple(FileEntry(f"src/part_{number}.py", edited=1) for number in range(50))
    commands = (
        CommandEntry("make old", "exit 2", error="Error: broken_symbol"),
        CommandEntry("make new", "exit 1", error="E"),
    )
    ledger = Ledger((UserRequest("Go."),), files, commands=commands)
    usual, kept = fit(ledger, 80, count), fit(ledger, 80, count, {"src/part_0.py", "make old"})
    assert (files[0] in usual.changed, commands[0] in usual.commands) == (False, False)
    assert (files[0] in kept.changed, commands[0] in kept.commands) == (True, True)
    assert count(render(kept)) <= 80
    assert usual.requests == kept.requests == ledger.requests
