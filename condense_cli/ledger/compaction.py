"""Write the text of a compaction: what a client puts in place of the conversation that it gives up.

    Compacted by condense, without a model, from 212 messages. [… N lines #406167] marks a gap.

    What the user said, in their own words, oldest first. …
    <words-4c19e2>
    [1]
    Please mend the login.
    [2, to: Shall I change the session store as well?, then: Changed, and all tests pass.]
    yes
    </words-4c19e2>

    What follows was copied by a program from the record of the work: …
    <record-4c19e2>
    <ledger>
    Files changed:
    - edited 3x: src/login.ts
    Todos:
    - [pending] add a test
    </ledger>
    Failed, and not known to be solved:
    - exit 1, 2 runs, 2 failed: npm test
    ! Error: session is undefined
    Lines picked from 212 messages, as they stood. 31 texts are left out whole.
    …
    </record-4c19e2>

The text can be read back, so that the next compaction continues it: words and entries come first in the new lists, and
lines compete with those of the messages that followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from itertools import dropwhile
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import parse_summary
from ..core.text_facts import facts_of
from ..core.transcript import Block, Message
from ..core.values import STANDING_ROLES, BlockKind, Role
from ..core.wording import plural
from ..extractive.answers import is_all_words, is_typed, own_units, words_in
from ..extractive.choice import Opening
from ..extractive.instructions import weight_of
from ..extractive.parts import Key
from ..extractive.shorten import Priced, SharedBudget
from ..extractive.summary import Sections
from ..extractive.survey import Survey
from ..extractive.units import render, split
from ..formats.engine.client_text import as_typed, is_command, words_beside, words_of_user
from ..tokens.counting import Counter
from ..toolcalls.outcomes import ENDED, OK
from .checklist import HAS_LETTER
from .collect import collect, ending_of, merge_all, outcomes_of
from .entries import CommandEntry, Ledger, UserRequest, merge_requests
from .recap import (
    DATA_HEADING,
    LEAST,
    RECORD,
    UNSOLVED_HEADING,
    WORDS,
    fenced,
    harmless,
    holds_recap,
    key_for,
    newest_within,
    unsolved,
)
from .text import CLOSING, DONE, OPENING, command_text, fit, parse, said_by_summaries, sentences_within
from .text import render as render_ledger
from .wishes import Phrase, Wishes, matching, without_dropped

TOKENS: Final = 20_000
"""Most tokens of a compaction where nobody names a size, in the model's own."""

_WINDOW_SHARE: Final = 0.1
"""And the share of the context window that it may take."""
_WINDOW: Final = 200_000
_MOST: Final = 2
"""A compaction is at most half as large as the messages."""

_WORDS: Final = 0.75
_ANSWERED: Final = 0.05
_UNSOLVED: Final = 0.1
_LEDGER: Final = 0.2
_WISHED: Final = 0.5
_LAST_WORDS: Final = 0.15
"""Largest shares of the budget for the user's words, what they answered, errors, and the ledger; and of the room for
lines, for those that the user asked for and for the assistant's last words."""

_COMMANDS: Final = 3
"""Newest commands that went well."""
_SLACK: Final = 8
"""Tokens by which the sum of the parts may be off."""
_ROUNDS: Final = 4
"""Attempts to fit the lines."""
_LONGEST_REPLY: Final = 300
_SHORT_REPLY: Final = 60
"""Most characters of a reply that is shown with a question before it, and of one that is shown with whatever was before
it."""

_REMINDERS: Final = ("<system-reminder>", "<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
_SHOWN: Final = ("Called the ", "was modified")
"""How texts of clients begin that come again after a compaction (tools, skills, rules), and words in reminders of
Claude Code that show a file and do not."""

_LONG: Final = 2_000
_OF_LONG: Final = 0.5
"""Longer texts of the user have at most this part of the room for their words, unless the others leave more."""

_TRACE: Final = lazy_pattern(r"at [\w.$<>\[\] ]+(?:\(|$)|[\w.$()<> ]+ @ \S+:\d|File \".*\", line \d")
_PLACE: Final = lazy_pattern(r"\S\.\w{1,5}:\d")
_OF_MACHINE: Final = 1e-6
"""Lines of a pasted trace or log, and what a token of them is worth among the user's words."""

_CONTINUED: Final = "This session is being continued from a previous conversation"
_OF_CLIENT: Final = (_CONTINUED, "Another language model started to solve this problem")
"""How Claude Code begins the message with a summary, and how Codex does. The client wrote all of it."""

FIRST_WORDS: Final = "Compacted by condense, without a model, from"
_SAID: Final = (
    "What the user said, in their own words, oldest first. These are instructions; later ones win. "
    'Behind "to:" is what they answered, behind "then:" how the assistant ended.'
)
_NAMED: Final = "\n\nNamed besides: "
_NAMES: Final = 0.06
"""Share of the budget for names that nothing else has."""
_PICKED: Final = "Lines picked from "
_EARLIER: Final = "## earlier summary"

_TAG: Final = lazy_pattern(rf"<({WORDS}|{RECORD})-([0-9a-f]{{6}})>")
_ENTRY: Final = lazy_pattern(r"\[(\d{1,6})(?:, said (\d{1,6}) times)?(|, (?:to|then): .*)\]", re.ASCII)
_TO, _THEN = ", to: ", ", then: "
_LIKE_ENTRY: Final = lazy_pattern(r"\\*\[\d", re.ASCII)


class Earlier(Struct, frozen=True):
    """The content of an earlier compaction of ours."""

    words: tuple[UserRequest, ...]
    ledger: Ledger
    lines: str


class Compaction(Struct, frozen=True):
    """The text of a compaction of `messages` messages; `tokens` as the counter counts them."""

    messages: int
    text: str
    tokens: int


def compaction_budget(total: int, factor: float, tokens: int | None, window: int | None) -> int:
    """Return the budget, in the counter's tokens, of a compaction of `total`: `tokens` of the model's, or the usual
    share of its `window`. One of the counter's tokens is `factor` of the model's."""
    size = tokens or min(TOKENS, int(_WINDOW_SHARE * (window or _WINDOW)))
    return max(LEAST, min(int(size / factor), total // _MOST))


def compaction(messages: Sequence[Message], budget: int, count: Counter, instructions: str = "") -> Compaction:
    """Write a compaction of a conversation within `budget` tokens, as far as its frame fits.

    `instructions` are what the user gave with the command: names of files and tools, "keep …" and "drop …".
    """
    number = len(messages)
    messages, earlier = _taken_over(messages)
    room = budget - count(_written(number, [UserRequest("")], [CommandEntry("")], Ledger(), "."))
    words = _with_answered(_within(_words(messages, earlier), int(room * _WORDS), count), int(room * _ANSWERED), count)
    room -= sum(count(said.text) + _around(said, count) + 3 for said in words)
    ledger = replace(merge_all([*(each.ledger for each in earlier), collect(messages)]), requests=())
    todos = tuple(todo for todo in ledger.todos if todo.status not in DONE)
    failed = newest_within(unsolved(ledger.commands), min(room, int(budget * _UNSOLVED)), count)
    went_well = tuple(command for command in ledger.commands if command.outcome in (OK, ENDED))[-_COMMANDS:]
    ledger = replace(ledger, todos=todos, is_whole_list=bool(todos), commands=went_well)
    ledger = fit(ledger, max(0, min(room, int(budget * _LEDGER))), count)

    def text_with(lines: str) -> str:
        return _written(number, words, failed, ledger, lines)

    excess = count(text_with("")) - budget  # Sums of parts are a few tokens off.
    if excess > 0:
        ledger = fit(ledger, max(0, count(render_ledger(ledger)) - excess - _SLACK), count)
    wishes = Wishes.of(instructions)
    survey = Survey(without_dropped([*map(_to_pick_from, messages)], wishes), count)
    text = text_with(_lines(survey, budget, text_with, wishes))
    return Compaction(number, text, count(text))


def read_back(text: str) -> Earlier | None:
    """Return what a compaction of ours in a text holds, or None."""
    found, _ = _sections_in(text)
    if not any(filter(None, found.values())):
        return None
    data = found.get(RECORD, [""])
    ledger, data = _read_ledger(data)
    failed = []
    if data[:1] == [UNSOLVED_HEADING]:
        end = next((at for at, line in enumerate(data) if at and line[:2] not in ("- ", "! ", "  ")), len(data))
        failed, data = data[1:end], data[end:]
    commands = parse("\n".join([OPENING, "Commands:", *failed, CLOSING])) if failed else None
    if commands is not None:
        ledger = merge_all([ledger, commands])
    if data and data[0].startswith(_PICKED):
        # The next compaction puts its own heading over all of this.
        data = [*dropwhile(lambda line: line in ("", _EARLIER), data[1:])]
    return Earlier(tuple(_read_words(found.get(WORDS, [""]))), ledger, "\n".join(data).strip("\n"))


def _sections_in(text: str) -> tuple[dict[str, list[str]], str]:
    """Return the lines between the tags of a compaction of ours in a text, by tag, and the text around it."""
    found: dict[str, list[str]] = {}
    before, is_there, rest = f"\n{text}".partition(f"\n{FIRST_WORDS} ")
    lines = rest.split("\n")[1:] if is_there else []
    for tag in (WORDS, RECORD):
        while lines and not lines[0]:
            del lines[0]
        # Behind a line that says what follows.
        opened = _TAG.fullmatch(lines[1]) if len(lines) > 1 else None
        end = f"</{tag}-{opened[2]}>" if opened and opened[1] == tag else None
        if end in lines[2:]:
            at = lines.index(end, 2)
            found[tag], lines = lines[2:at], lines[at + 1 :]
    if DATA_HEADING in lines:  # Data that no fence closes is not taken for words.
        lines = []
    return found, "\n".join([before, *lines]).strip("\n")


def _is_of_machine(line: str) -> bool:
    """Whether a line is one of a trace or a log."""
    return _TRACE.match(line.lstrip()) is not None or _PLACE.search(line) is not None


def _read_ledger(data: list[str]) -> tuple[Ledger, list[str]]:
    """Return the ledger that data begins with, and the lines behind it."""
    if data[:1] != [OPENING] or CLOSING not in data:
        return Ledger(), data
    end = data.index(CLOSING) + 1
    return parse("\n".join(data[:end])) or Ledger(), data[end:]


def _read_words(lines: Iterable[str]) -> Iterator[UserRequest]:
    said: UserRequest | None = None
    text: list[str] = []
    for line in lines:
        opened = _ENTRY.fullmatch(line)
        if opened is None:
            text.append(line[1:] if line.startswith("\\") and _LIKE_ENTRY.match(line) else line)
            continue
        if said is not None:
            yield replace(said, text="\n".join(text))
        asked, _, outcome = opened[3].partition(_THEN)
        said, text = UserRequest("", int(opened[2] or 1), asked.removeprefix(_TO), outcome), []
    if said is not None:
        yield replace(said, text="\n".join(text))


def _written(
    messages: int, words: Sequence[UserRequest], failed: Sequence[CommandEntry], ledger: Ledger, lines: str
) -> str:
    data = []
    if ledger:
        data.append(render_ledger(ledger))
    if failed:
        data.append("\n".join([UNSOLVED_HEADING, *map(command_text, failed)]))
    if lines:
        data.append(lines)
    data = [*map(harmless, data)]
    key = key_for([*(f"{said.text}\n{said.answers}\n{said.outcome}" for said in words), *data])
    parts = [f"{FIRST_WORDS} {plural(messages, 'message')}. [… N lines #406167] marks a gap."]
    if words:
        parts += ["", _SAID, fenced(WORDS, key, _entries(words))]
    if data:
        parts += ["", DATA_HEADING, fenced(RECORD, key, data)]
    return "\n".join(parts)


def _entries(words: Sequence[UserRequest]) -> Iterator[str]:
    for number, said in enumerate(words, 1):
        times = f", said {said.times} times" if said.times > 1 else ""
        asked = f"{_TO}{harmless(said.answers).replace(_THEN, ' then: ')}" if said.answers else ""
        yield f"[{number}{times}{asked}{f'{_THEN}{harmless(said.outcome)}' if said.outcome else ''}]"
        for line in said.text.split("\n"):
            yield f"\\{line}" if _LIKE_ENTRY.match(line) else line


def _taken_over(messages: Sequence[Message]) -> tuple[list[Message], list[Earlier]]:
    """Return the messages with earlier summaries as words of the assistant, and what those summaries list."""
    found: list[Message] = []
    earlier: list[Earlier] = []
    for message in messages:
        rest: list[Block] = []
        for block in message.blocks:
            summary = _summary_in(message, block)
            if summary is None:
                rest.append(block)
                continue
            earlier.append(summary)
            if around := _said_around(block):
                rest.append(block.with_text(around))
            if summary.lines.strip():
                said = replace(block.with_text(summary.lines), summarizes=True, injected=False)
                found.append(replace(message, role=Role.ASSISTANT, blocks=(said,)))
        if rest:
            found.append(replace(message, blocks=tuple(rest)))
    return found, earlier


def _said_around(block: Block) -> str:
    """Return what the user wrote around a compaction of ours in the same text."""
    if block.injected or block.summarizes or words_beside(block.text).startswith(_OF_CLIENT):
        return ""
    return _sections_in(block.text)[1]


def _summary_in(message: Message, block: Block) -> Earlier | None:
    """Return what a block holds that is an earlier summary, ours or another's; None if it is none.

    Words of the user are taken from ours alone: a model may have written anything.
    """
    is_users = message.role is Role.USER and block.answers is None and not block.injected
    if block.kind is not BlockKind.TEXT or not (is_users or block.summarizes):
        return None
    text = block.text
    if ours := read_back(text):
        return ours
    if not (block.summarizes or text.startswith(_CONTINUED)):
        return None
    ledger, mark = parse(text) or Ledger(), parse_summary(text)
    words = ledger.requests if mark else ()
    if block.summarizes and not (mark and mark.is_note):
        return Earlier(words, ledger, said_by_summaries([replace(message, blocks=(block,))]))
    return Earlier(words, ledger, text.rpartition(OPENING)[0] if ledger else text)


def _words(messages: Sequence[Message], earlier: Iterable[Earlier]) -> tuple[UserRequest, ...]:
    """Return the user's words, oldest first, each once; a marker is in place of what they pasted."""
    return merge_requests((said for each in earlier for said in each.words), _said_in(messages))


def _said_in(messages: Sequence[Message]) -> Iterator[UserRequest]:
    own, outcomes = own_units(messages), outcomes_of(messages)
    answered = ""
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if message.role is Role.ASSISTANT:
                if block.kind is BlockKind.TEXT and not block.summarizes and block.text.strip():
                    answered = block.text
                continue
            units = own.get((position, number), ())
            if units == ():
                continue
            if block.kind is BlockKind.TOOL_RESULT:
                text = words_in(block)
            else:
                text = block.text if units is None else _kept(block.text, units)
            text = _without_command(text).strip("\n")
            if text.strip():
                ending = ending_of(answered) if len(text) <= _LONGEST_REPLY else ""
                ending = ending if "?" in ending or len(text) <= _SHORT_REPLY else ""
                yield UserRequest(text, 1, ending, outcomes.get((position, number), ""))
                answered = ""


def _without_command(text: str) -> str:
    """Return a command of the client as it was typed; empty if nothing was said with it, or only how to compact."""
    if not is_command(text):
        return text
    typed = as_typed(text)
    return typed if words_of_user(text) and typed.partition(" ")[0] != "/compact" else ""


def _kept(text: str, own: Collection[int]) -> str:
    units = split(text)
    return render(units, [unit in own for unit in range(len(units.texts))])


def _around(said: UserRequest, count: Counter) -> int:
    """Tokens of what a text of the user answered, and of what came of it."""
    return sum(count(text) + 3 for text in (said.answers, said.outcome) if text)


def _within(words: Sequence[UserRequest], budget: int, count: Counter) -> tuple[UserRequest, ...]:
    """Return as much of the words as fits; of long texts at most a part, and sentence by sentence."""
    sizes = [count(said.text) + 3 for said in words]
    if sum(sizes) <= budget:
        return tuple(words)
    is_long = [len(said.text) > _LONG for said in words]
    short = sum(size for size, long in zip(sizes, is_long, strict=True) if not long)
    of_long = max(budget - short, int(budget * _OF_LONG))
    left = _sentences_within([said.text for said, long in zip(words, is_long, strict=True) if long], of_long, count)
    rest = budget - sum(count(text) + 3 for text in left if text)
    others = _sentences_within([said.text for said, long in zip(words, is_long, strict=True) if not long], rest, count)
    texts = [(left if long else others).pop(0) for long in is_long]
    return tuple(replace(said, text=text) for said, text in zip(words, texts, strict=True) if text)


def _sentences_within(texts: Sequence[str], budget: int, count: Counter) -> list[str]:
    """Return the texts with their most needed sentences. First go a machine's lines, and what was said before."""
    seen: set[str] = set()

    def worth(_: str, sentence: str, tokens: int) -> float:
        is_news = not (_is_of_machine(sentence) or sentence.strip() in seen)
        seen.add(sentence.strip())
        return (weight_of(sentence) if is_news else _OF_MACHINE) * tokens

    def measure(left: Sequence[str]) -> int:
        return sum(count(text) + 3 for text in left if text)

    return sentences_within(texts, budget, count, measure, worth, Opening(3))


def _with_answered(words: Sequence[UserRequest], budget: int, count: Counter) -> tuple[UserRequest, ...]:
    """Return the words, what is around them only as far as `budget` tokens go, from the newest on."""
    found = []
    for said in reversed(words):
        budget -= _around(said, count)
        found.append(said if budget >= 0 else replace(said, answers="", outcome=""))
    return merge_requests((), found[::-1])


def _comes_again(block: Block) -> bool:
    """Whether the client sends a reminder of its own again after the compaction."""
    text = block.text
    return text.lstrip().startswith(_REMINDERS) and not any(words in text for words in _SHOWN)


def _to_pick_from(message: Message) -> Message:
    """Return a message without the user's words, recaps and standing instructions. Pasted material stays."""
    blocks: list[Block] = []
    for block in message.blocks if message.role not in STANDING_ROLES else ():
        is_said = block.kind is not BlockKind.TOOL_CALL
        if is_all_words(block) or (is_said and (holds_recap(block.text) or _comes_again(block))):
            block = block.with_text("")
        elif is_typed(message, block):
            own = own_units([replace(message, blocks=(block,))]).get((0, 0))
            units = split(block.text)
            kept = [own is not None and unit not in own for unit in range(len(units.texts))]
            block = replace(block.with_text(render(units, kept) if any(kept) else ""), injected=True)
        blocks.append(block)
    return replace(message, blocks=tuple(blocks))


def _lines(survey: Survey, budget: int, text_with: Callable[[str], str], wishes: Wishes) -> str:
    """Return lines of the messages, and names that nothing else has, such that the text with them fits `budget`."""
    messages = enumerate(survey.messages)
    sections = Sections(survey, [{(at, number) for at, each in messages for number in range(len(each.blocks))}])
    priced = Priced(survey)
    of_names = int(budget * _NAMES)
    room = budget - survey.count(text_with("")) - of_names - _SLACK
    shared = SharedBudget(priced, (), sections, _fixed(survey, sections, priced, room, wishes))
    for _ in range(_ROUNDS):
        if room <= 0:
            break
        found = shared.within(room)
        lines = "".join(found.summaries) if found.tokens <= room else ""
        excess = survey.count(text_with(lines)) + of_names - budget
        if excess <= 0:
            return _with_names(lines, survey, budget, text_with)
        room -= excess + _SLACK
    return ""


def _with_names(lines: str, survey: Survey, budget: int, text_with: Callable[[str], str]) -> str:
    """Return lines with the facts that later work needs most likely and that nothing names, as far as they fit."""
    said = {*facts_of(text_with(lines))}
    order = sorted(range(len(survey.facts)), key=lambda fact: -survey.weights[fact])
    room = budget - survey.count(text_with(lines + _NAMED))
    names: list[str] = []
    for fact in order:
        name = survey.facts[fact]
        if name in said or not HAS_LETTER.search(name) or any(name in other for other in names):
            continue
        room -= survey.count(f"{name}, ")
        if room < 0:
            break
        names.append(name)
    return lines + _NAMED + ", ".join(names) if names else lines


def _fixed(survey: Survey, sections: Sections, priced: Priced, room: int, wishes: Wishes) -> dict[Key, Sequence[int]]:
    """Return the units that stay: what the user asked for, and the assistant's last words, each in a part of `room`."""
    found: dict[Key, set[int]] = {}
    told = {*sections.keys}
    last = max((key for key in told if survey.parts[key].is_said), default=None)
    if last is not None:
        units = range(len(survey.units[last].texts))
        _take_while([(last, unit) for unit in reversed(units)], int(room * _LAST_WORDS), survey, priced, found)
    wanted = wishes.meant(wishes.keep, survey.messages)
    of_calls = [
        (key, unit)
        for key in sorted(told, reverse=True)
        if key[:2] in wanted
        for unit in range(len(survey.bodies[key]))
    ]
    _take_while([*_wished(survey, told, wishes.keep), *of_calls], int(room * _WISHED), survey, priced, found)
    return {key: sorted(units) for key, units in found.items()}


def _wished(survey: Survey, told: Set[Key], phrases: Iterable[Phrase]) -> Iterator[tuple[Key, int]]:
    """Yield the units that hold a phrase, or are below a heading that does: first of what was said, newest first."""
    for key in sorted(told, key=lambda key: (survey.parts[key].is_said, key), reverse=True):
        units = survey.units[key]
        for unit in sorted({unit for phrase in phrases for unit in matching(units, phrase)}):
            yield key, unit


def _take_while(
    wanted: Iterable[tuple[Key, int]], budget: int, survey: Survey, priced: Priced, found: dict[Key, set[int]]
) -> None:
    """Add units to what is `found`, whole lines, until `budget` tokens are spent."""
    for key, unit in wanted:
        units, tokens = survey.units[key], priced.of(key).tokens
        line = {*range(units.starts[unit], units.stops[unit])} - found.get(key, set())
        budget -= sum(tokens[each] for each in line)
        if budget < 0:
            return
        found.setdefault(key, set()).update(line)
