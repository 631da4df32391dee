"""Content that is in a transcript more than once: blocks, lines, images."""

from typing import Any

from build import LONG, anthropic, assistant, call, read_turn, result, text, user
from helpers import as_lines, condense
from pictures import picture

from condense_cli.report.inspection.facts import find_repeats, inspect
from condense_cli.tokens.counting import Counter, encoding_for
from condense_cli.tokens.factor import AS_COUNTED

SENTENCE = "this line is long enough to be a repeat"


def repeats(*messages: dict[str, Any]) -> list[tuple[int, int, int, tuple[int, int] | None]]:
    found = find_repeats(anthropic(*messages), Counter())
    return [(repeat.message, repeat.block, repeat.lines, repeat.first) for repeat in found]


def test_a_block_that_stands_earlier_is_a_repeat_as_a_whole() -> None:
    """The first time counts as nothing; each later one names the first."""
    turns = [*read_turn("1", "a.py"), *read_turn("2", "b.py"), *read_turn("3", "c.py")]
    assert repeats(user("go"), *turns) == [(4, 0, 40, (2, 0)), (6, 0, 40, (2, 0))]
    (block, _) = find_repeats(anthropic(user("go"), *turns), Counter())
    assert block.tokens == Counter()(LONG)


def test_the_same_call_again_is_a_repeat_and_another_tool_with_its_arguments_is_not() -> None:
    """A call is its tool and its arguments."""
    path = "src/a/path/that/is/long/enough.py"
    calls = [call("1", "Read", file_path=path), call("2", "View", file_path=path)]
    answers = user([result("1", "x"), result("2", "y")])
    assert repeats(user("go"), assistant(calls[:1]), user([result("1", "x")]), assistant([call("9", file_path=path)]))[
        0
    ] == (3, 0, 1, (1, 0))
    assert repeats(user("go"), assistant(calls), answers) == [(1, 1, 1, None)]


def test_lines_that_stand_earlier_are_repeats_wherever_they_stand() -> None:
    """In results, texts, and string values of calls; not when they are short, and not when they differ a little."""
    first = f"{SENTENCE}\nreturn None\n{SENTENCE} and more"
    written = {"file_path": "a.py", "content": f"new\n{SENTENCE}\nreturn None\nalso new"}
    messages = [
        user("go"),
        *read_turn("1", "a.py", first),
        assistant([call("2", "Write", **written)]),
        user([result("2", f" {SENTENCE}\nreturn None")]),
    ]
    assert repeats(*messages) == [(3, 0, 1, None)]
    (line,) = find_repeats(anthropic(*messages), Counter())
    assert line.tokens == Counter()(SENTENCE)


def test_lines_repeated_inside_one_block_count_from_the_second_on() -> None:
    """The first of them is no repeat, and runs of neighbours are counted together."""
    block = "\n".join([SENTENCE] * 5)
    (found,) = find_repeats(anthropic(user(block)), Counter())
    assert (found.lines, found.tokens) == (4, Counter()("\n".join([SENTENCE] * 4)))


def test_an_image_that_stands_earlier_is_a_repeat() -> None:
    """By its data, in a message or a result; another image is none."""

    def image(data: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    first, other = picture(800, 600), picture(640, 480)
    messages = [user([image(first), text("look")]), *read_turn("1", "a.png", [image(first), image(other)])]
    assert repeats(*messages) == [(2, 0, 0, (0, 0))]
    (repeat,) = find_repeats(anthropic(*messages), Counter())
    assert repeat.tokens == 800 * 600 // 750
    found = inspect(anthropic(*messages), Counter(), AS_COUNTED, encoding_for(None), source="test").repeats
    assert (found.whole_blocks, found.block_tokens, found.lines) == (1, repeat.tokens, 0)
    assert [(share.content_type, share.first) for share in found.largest] == [("images", "0.0")]


def test_nothing_is_repeated_where_nothing_is() -> None:
    assert repeats(user("go"), *read_turn("1", "a.py"), assistant("ok"), user("go"), assistant("ok")) == []
    done = condense("inspect", "-", stdin=as_lines([user("go"), assistant("ok")]))
    assert "Nothing repeats." in done.text
