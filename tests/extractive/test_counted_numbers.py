"""Numbers of the lines of a shown file: left out where they can be counted, and nowhere else."""

import pytest
from build import anthropic, assistant, call, result, user

from condense_cli.core.markers import short_hash
from condense_cli.extractive.shorten import Priced
from condense_cli.extractive.survey import Survey
from condense_cli.extractive.units import render, split
from condense_cli.tokens.counting import Counter

COUNT = Counter()


def _shown(lines: list[str], first: int = 1, form: str = "{:>6}→{}") -> str:
    return "\n".join(form.format(number, line) for number, line in enumerate(lines, first))


def _cut(text: str, *gone: int) -> list[str]:
    """The lines of a text without those at some places."""
    units = split(text)
    kept = [unit not in gone for unit in range(len(units.texts))]
    return render(units, kept, counts_lines=True).split("\n")


@pytest.mark.parametrize("form", ["{:>6}→{}", "{:>6}\t{}", "{}\t{}"])
def test_the_first_line_that_stays_keeps_its_number(form: str) -> None:
    text = _shown([*"abcdef"], 41, form)
    lines = text.split("\n")
    _, first, *others = _cut(text, 0, 3)
    assert first == lines[1]
    assert others == ["c", "[…1 line]", "e", "f"]


def test_behind_many_missing_lines_there_is_a_number_again() -> None:
    lines = [f"line {number}" for number in range(40)]
    assert _cut(_shown(lines), *range(1, 10), *range(11, 21))[2:5:2] == ["line 10", "    22→line 21"]


def test_a_text_that_stays_whole_keeps_its_numbers() -> None:
    text = _shown([*"abc"])
    assert _cut(text) == text.split("\n")


def test_numbers_of_each_listing_are_counted_from_its_own() -> None:
    text = f"{_shown([*'abc'])}\nbetween\n{_shown([*'xyz'], 7)}"
    assert _cut(text, 1)[2:] == ["c", "between", "     7→x", "y", "z"]


def test_a_column_of_a_table_stays() -> None:
    table = "id\tname\n" + _shown(["Anna", "Bob", "Carla", "Dan"], form="{}\t{}")
    assert _cut(table, 2) == ["id\tname", "1\tAnna", f"[… 1 line #{short_hash(table)}]", "3\tCarla", "4\tDan"]


@pytest.mark.parametrize("form", ["{}:{}", "{}: {}", "{:>3} | {}", "{}|{}"])
def test_numbers_that_edits_name_or_that_may_be_times_stay(form: str) -> None:
    text = _shown([*"abcd"], 10, form)
    assert _cut(text, 0)[1:] == text.split("\n")[1:]


@pytest.mark.parametrize(
    "body", ["[… 3 lines #406167]", "[…3 lines]", "[see lines 3-7 of x #520917]", "7\t", "7: x", "07\tx"]
)
def test_a_line_that_would_be_read_otherwise_keeps_its_number(body: str) -> None:
    assert _cut(_shown(["a", "b", body, "d"]), 0)[2:] == [f"     3→{body}", "d"]


def test_an_empty_last_line_keeps_its_number() -> None:
    assert _cut(_shown(["a", "b", ""]), 0)[1:] == ["     2→b", "     3→"]
    assert _cut(_shown(["a", "b", "", "d"]), 0)[1:] == ["     2→b", "", "d"]


def test_what_was_cut_so_can_be_cut_further() -> None:
    once = "\n".join(_cut(_shown([f"line {number}" for number in range(9)]), 0, 4))
    assert _cut(once) == once.split("\n")
    assert _cut(once, 2)[1:] == ["     2→line 1", "line 2", "[…2 lines]", "line 5", "line 6", "line 7", "line 8"]


def test_what_is_left_out_already_is_counted() -> None:
    first, second = _shown([*"abc"]), _shown([*"de"], 4)
    assert _cut(f"{first}\n[… 20 lines #406167]\n{second}", 0)[1:] == [
        "     2→b", "c", "[…20 lines]", "     4→d", "e",
    ]  # fmt: skip
    assert _cut(f"{first}\n[… 2 lines #406167]\n{_shown([*'fg'], 6)}", 0)[1:] == [
        "     2→b", "c", "[…2 lines]", "f", "g",
    ]  # fmt: skip


def test_numbers_are_counted_from_the_number_shown_last() -> None:
    text = f"{_shown([*'ab'])}\n     9→alone\n{_shown([*'de'], 4)}"
    assert _cut(text, 0) == [f"[… 1 line #{short_hash(text)}]", "     2→b", "     9→alone", "     4→d", "e"]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Read", {"file_path": "/src/app.py"}, True),
        ("Edit", {"file_path": "/src/app.py", "old_string": "a", "new_string": "b"}, True),
        ("Bash", {"command": "cat -n src/app.py"}, True),
        ("Bash", {"command": "nl -ba src/app.py | sed -n 1,20p"}, True),
        ("Bash", {"command": "cd src\nnl -ba app.py"}, True),
        ("Bash", {"command": "cat people.tsv"}, False),
        ("Bash", {"command": "python - <<E\nl = open('people.tsv')\nprint(*l)\nE"}, False),
        ("Query", {"sql": "select * from people"}, False),
    ],
)
def test_only_numbers_before_lines_of_a_shown_file_are_counted(
    tool: str, arguments: dict[str, str], expected: bool
) -> None:
    text = _shown([*"abc"], form="{}\t{}")
    turns = assistant([call("t1", tool, **arguments)]), user([result("t1", text)])
    survey = Survey(anthropic(user("Look at it."), *turns, assistant("Done.")).messages, COUNT)
    assert [part.numbers_lines for part in survey.parts.values() if part.is_result] == [expected]


def test_a_line_costs_what_it_is_written_with() -> None:
    def cost(text: str) -> int:
        turns = assistant([call("t1", "Read", file_path="/a.py")]), user([result("t1", text)])
        survey = Survey(anthropic(user("Look at it."), *turns).messages, COUNT)
        key = next(key for key, part in survey.parts.items() if part.is_result)
        return sum(Priced(survey).of(key).tokens)

    lines = [f"def total_{number}(items):" for number in range(20)]
    assert cost(_shown(lines)) == cost("\n".join(lines))
    assert cost(_shown(lines, form="{}:{}")) > cost("\n".join(lines))
