"""A ledger as text that a model reads, and back: `parse(render(ledger)) == ledger`.

    <ledger>
    Requests of the user:
    - Please fix the login.
      It fails on Safari.
    - yes, do that
    ? Shall I delete the old form?
    = Deleted, and all tests pass.
    Files changed (…/ is /home/me/app/):
    - read 2x, edited 3x, failed, last change failed: …/src/login.ts
    Files only read:
    - read: …/src/session.ts
    Commands:
    - exit 1, 4 runs, 2 failed: npm test
    ! Error: session is undefined
    Todos:
    - [pending] add a test
    Left out: 12 files only read, 30 commands, 2 images.
    </ledger>

Every entry begins with "- ", goes on after two blanks, and what belongs to it follows "! " (an error), "> " (where a
file went), "? " (what was answered) or "= " (what came of it). So nothing inside an entry can be taken for the frame,
whatever a file or a command is called.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, Literal, assert_never, get_args

from msgspec import Struct
from msgspec.structs import replace

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import GO_ON, parse_summary
from ..core.transcript import Message
from ..core.values import Role
from ..extractive.choice import UNSIGNED, Candidates, Choice, Coverage, Opening, Stretch
from ..extractive.choice import fit as fit_choice
from ..extractive.corrections import outdated, outdated_statements, sentences_of
from ..extractive.instructions import weight_of
from ..extractive.units import render as render_units
from ..extractive.units import split
from ..tokens.counting import Counter
from ..toolcalls.outcomes import DENIED, ENDED, OK
from .collect import collect, merge_all
from .entries import CommandEntry, FileEntry, Ledger, LeftOutEntries, State, Todo, UserRequest, merge

OPENING: Final = "<ledger>"
CLOSING: Final = "</ledger>"
_ABBREVIATED: Final = "…/"

_REQUESTS: Final = "Requests of the user:"
_CHANGED: Final = "Files changed"
_READ: Final = "Files only read"
_COMMANDS: Final = "Commands:"
_WHOLE_LIST: Final = "Todos:"
_SOME_TODOS: Final = "Todos, in addition to earlier ones:"
_FILES: Final = lazy_pattern(rf"({_CHANGED}|{_READ})(?: \({_ABBREVIATED} is (.+)\))?:")
_FILE: Final = lazy_pattern(r'([a-z0-9, ]*): ("?)(.*)', re.DOTALL)
_COUNTED: Final = lazy_pattern(r"(read|created|written|edited|failed)(?: (\d{1,15})x)?", re.ASCII)
_STATES: Final[dict[State, str]] = {
    "failed": "last change failed",
    "denied": "last change denied",
    "deleted": "now deleted",
    "moved": "now moved",
}
_STATE_OF_WORDS: Final = {words: state for state, words in _STATES.items()}
_COMMAND: Final = lazy_pattern(
    r"(ok|ended|failed|denied|exit -?\d{1,15})(?:, (\d{1,15}) runs)?(?:, (\d{1,15}) failed)?: (.*)",
    re.DOTALL | re.ASCII,
)
_REQUEST: Final = lazy_pattern(r"\[(\d{1,15})x\] (.*)", re.DOTALL | re.ASCII)
_TODO: Final = lazy_pattern(r"\[([a-z_]*)\] (?:#([^\s#]+) )?(?:# )?(.*)", re.DOTALL)
_LEFT_OUT: Final = "Left out: "
_NOUNS: Final = {
    "requests": ("request", "requests"),
    "changed": ("file changed", "files changed"),
    "read": ("file only read", "files only read"),
    "commands": ("command", "commands"),
    "todos": ("todo", "todos"),
    "images": ("image", "images"),
    "documents": ("document", "documents"),
}
"""Singular and plural of what is left out."""

_AMOUNT: Final = lazy_pattern(r"(\d{1,15}) ([a-z ]+)", re.ASCII)


def render(ledger: Ledger) -> str:
    """Write the ledger as text; empty for an empty ledger."""
    return "\n".join(_lines(ledger)) if ledger else ""


def parse(text: str) -> Ledger | None:
    """Return the last ledger in a text, or None."""
    lines = text.split("\n")
    try:
        start = len(lines) - 1 - lines[::-1].index(OPENING)
        end = lines.index(CLOSING, start)
    except ValueError:
        return None
    try:
        return _parse(lines[start + 1 : end])
    except _NotALedgerError:
        return None


class _NotALedgerError(Exception):
    """The text does not have the form."""


def _lines(ledger: Ledger) -> Iterator[str]:
    yield OPENING
    for heading, entries in _sections(ledger):
        if entries:
            yield heading
            yield from entries
    if ledger.left_out:
        amounts = [(getattr(ledger.left_out, key), one, several) for key, (one, several) in _NOUNS.items()]
        said = [f"{number} {several if number > 1 else one}" for number, one, several in amounts if number]
        yield f"{_LEFT_OUT}{', '.join(said)}."
    yield CLOSING


def _sections(ledger: Ledger) -> Iterator[tuple[str, list[str]]]:
    yield _REQUESTS, [request_text(request) for request in ledger.requests]
    for name, files in ((_CHANGED, ledger.changed), (_READ, ledger.read)):
        folder = common_folder(files)
        heading = f"{name} ({_ABBREVIATED} is {folder}):" if folder else f"{name}:"
        yield heading, [file_text(entry, folder) for entry in files]
    yield _COMMANDS, [command_text(command) for command in ledger.commands]
    todos = [todo_text(todo) for todo in ledger.todos]
    if ledger.is_whole_list:
        yield _WHOLE_LIST, todos or ["- "]  # An empty list is written, too.
    else:
        yield _SOME_TODOS, todos


def _item(text: str) -> str:
    return "- " + text.replace("\n", "\n  ")


def _attached(mark: str, text: str) -> str:
    return f"\n{mark} " + text.replace("\n", "\n  ") if text else ""


def common_folder(files: Sequence[FileEntry]) -> str:
    """Return the folder, with its last separator, that is worth abbreviating in these paths; "" if none is."""
    folders: dict[str, int] = {}
    for entry in files:
        parts = entry.path.split("/")
        for depth in range(3, min(len(parts), 12)):
            folder = "/".join(parts[:depth]) + "/"
            folders[folder] = folders.get(folder, 0) + 1
    # Characters that the abbreviations save, less those of naming the folder once.
    gains = {folder: (number - 1) * (len(folder) - 2) for folder, number in folders.items() if "\n" not in folder}
    best = max(gains, key=lambda folder: (gains[folder], folder), default="")
    return best if best and gains[best] > len(best) else ""


def file_text(entry: FileEntry, folder: str = "") -> str:
    words = []
    for name in ("read", "created", "written", "edited", "failed"):
        number = getattr(entry, name)
        if number:
            words.append(f"{name} {number}x" if number > 1 else name)
    if entry.state:
        words.append(_STATES[entry.state])
    path = entry.path
    if folder and path.startswith(folder):
        path = _ABBREVIATED + path[len(folder) :]
    elif path.startswith(('"', _ABBREVIATED)):
        path = f'"{path}'  # After a quotation mark the text is literal.
    return _item(f"{', '.join(words)}: {path}") + _attached(">", entry.moved_to)


def command_text(command: CommandEntry) -> str:
    runs = f", {command.runs} runs" if command.runs != 1 else ""
    implied = _implied_failures(command.outcome, command.runs)
    failures = f", {command.failures} failed" if command.failures != implied else ""
    return _item(f"{command.outcome}{runs}{failures}: {command.text}") + _attached("!", command.error)


def request_text(request: UserRequest) -> str:
    is_counted = request.times != 1 or _REQUEST.fullmatch(request.text)
    said = _item(f"[{request.times}x] {request.text}" if is_counted else request.text)
    return said + _attached("?", request.answers) + _attached("=", request.outcome)


def todo_text(todo: Todo) -> str:
    number = f"#{todo.id} " if todo.id else ""
    escape = "# " if todo.text.startswith("#") else ""
    return _item(f"[{todo.status}] {number}{escape}{todo.text}")


class _Entry(Struct):
    """Parts of an entry as read: its text, and attachments by their mark."""

    parts: dict[str, list[str]]
    newest: str = "-"

    def __getitem__(self, mark: str) -> str:
        return "\n".join(self.parts.get(mark, ()))


def _parse(lines: Sequence[str]) -> Ledger:
    requests: list[UserRequest] = []
    files: dict[str, list[FileEntry]] = {_CHANGED: [], _READ: []}
    commands: list[CommandEntry] = []
    todos: list[Todo] = []
    is_whole_list, left_out = False, LeftOutEntries()
    for heading, entries in _read_sections(lines):
        named = _FILES.fullmatch(heading)
        if named:
            files[named[1]] += [_file(entry, named[2] or "") for entry in entries]
        elif heading == _REQUESTS:
            requests += [_request(entry) for entry in entries]
        elif heading == _COMMANDS:
            commands += [_command(entry) for entry in entries]
        elif heading in (_WHOLE_LIST, _SOME_TODOS):
            is_whole_list = heading == _WHOLE_LIST
            todos += [_todo(entry) for entry in entries if entry["-"]]
        elif heading.startswith(_LEFT_OUT) and not entries:
            left_out = _left_out(heading)
        else:
            raise _NotALedgerError
    changed, read = tuple(files[_CHANGED]), tuple(files[_READ])
    return Ledger(tuple(requests), changed, read, tuple(commands), tuple(todos), is_whole_list, left_out)


def _read_sections(lines: Sequence[str]) -> list[tuple[str, list[_Entry]]]:
    sections: list[tuple[str, list[_Entry]]] = []
    for line in lines:
        mark, entries = line[:2], sections[-1][1] if sections else []
        if mark == "- " and sections:
            entries.append(_Entry({"-": [line[2:]]}))
        elif mark in ("! ", "> ", "? ", "= ") and entries:
            entries[-1].newest = mark[0]
            entries[-1].parts[mark[0]] = [line[2:]]
        elif mark == "  " and entries:
            entries[-1].parts[entries[-1].newest].append(line[2:])
        else:
            sections.append((line, []))
    return sections


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise _NotALedgerError
    return match


def _file(entry: _Entry, folder: str) -> FileEntry:
    words, quote, path = _match(_FILE, entry["-"]).groups()
    if not quote and path.startswith(_ABBREVIATED):
        path = folder + path.removeprefix(_ABBREVIATED)
    counts: dict[str, int] = {}
    state: State = ""
    for word in filter(None, words.split(", ")):
        if word in _STATE_OF_WORDS:
            state = _STATE_OF_WORDS[word]
        else:
            name, number = _match(_COUNTED, word).groups()
            counts[name] = int(number or 1)
    return FileEntry(path, state=state, moved_to=entry[">"], **counts)


def _command(entry: _Entry) -> CommandEntry:
    outcome, runs, failures, text = _match(_COMMAND, entry["-"]).groups()
    times = int(runs or 1)
    failed = _implied_failures(outcome, times) if failures is None else int(failures)
    return CommandEntry(text, outcome, times, failed, entry["!"])


def _implied_failures(outcome: str, runs: int) -> int:
    """Return the number of failures if none is written: 1 if the last run failed."""
    return 0 if outcome in (OK, ENDED, DENIED) else min(1, runs)


def _request(entry: _Entry) -> UserRequest:
    counted = _REQUEST.fullmatch(entry["-"])
    text, times = (counted[2], int(counted[1])) if counted else (entry["-"], 1)
    return UserRequest(text, times, entry["?"], entry["="])


def _todo(entry: _Entry) -> Todo:
    status, todo_id, text = _match(_TODO, entry["-"]).groups()
    return Todo(text, status, todo_id or "")


def _left_out(line: str) -> LeftOutEntries:
    keys = {noun: key for key, nouns in _NOUNS.items() for noun in nouns}
    return LeftOutEntries(**{keys[noun]: int(number) for number, noun in _AMOUNT.findall(line) if noun in keys})


_LONG: Final = 400
"""Requests of more characters go before equally useful ones: rules are short."""
_OF_LONG: Final = 0.5

_EACH: Final = 8
"""Worth of a sentence besides its tokens, in tokens."""
_MARKER: Final = 10
"""Tokens of a marker with its line break."""


def quoted(
    requests: Sequence[UserRequest], budget: int, count: Counter, measure: Callable[[Sequence[str]], int]
) -> list[str]:
    """Shorten requests to `budget` tokens in all; a request that goes is empty. `measure` counts what is left."""

    def worth(text: str, sentence: str, tokens: int) -> float:
        # Of two that say as much for their tokens, the shorter is one thing more.
        return (_OF_LONG if len(text) > _LONG else 1.0) * weight_of(sentence) * (tokens + _EACH)

    return sentences_within([request.text for request in requests], budget, count, measure, worth, Opening(2))


def sentences_within(
    texts: Sequence[str],
    budget: int,
    count: Counter,
    measure: Callable[[Sequence[str]], int],
    worth: Callable[[str, str, int], float],
    opening: Opening,
) -> list[str]:
    """Return the user's texts with the sentences of most worth, in `budget` tokens; empty where none is left.

    `measure` counts what is left, `worth` is that of a sentence of a text with its tokens, and `opening` the tokens
    in front of a text. Markers tell what is missing. What the user corrected later goes first.
    """
    units = [split(text, by_sentence=True) for text in texts]
    corrected = outdated([found.texts for found in units])
    tokens, values = array(UNSIGNED), array("d")
    stretches: list[Stretch] = []
    for text, found, gone in zip(texts, units, corrected, strict=True):
        start = len(tokens)
        for unit, sentence in enumerate(found.texts):
            tokens.append(count.anew(sentence))
            values.append(0.0 if unit in gone else worth(text, sentence, tokens[-1]))
        stretches.append(Stretch(start, len(tokens), found.gaps, opening))
    choice = Choice(Candidates(tokens, values, [()] * len(tokens), stretches, _MARKER), Coverage.of(()))

    def left() -> list[str]:
        inside = (choice.kept[stretch.start : stretch.stop] for stretch in stretches)
        return [render_units(found, kept) if any(kept) else "" for found, kept in zip(units, inside, strict=True)]

    fit_choice(choice, budget, lambda: measure(left()))
    return left()


DONE: Final = frozenset({"completed", "done", "cancelled", "deleted"})

_Section = Literal["requests", "changed", "read", "commands", "todos"]
_Position = tuple[_Section, int]
"""A section and the position of an entry in it."""


def fit(ledger: Ledger, max_tokens: int, count: Counter, wanted: Collection[str] = ()) -> Ledger:
    """Drop entries until the ledger's text has at most `max_tokens`; return the same object if it fits.

    Files only read go first, then commands that ended well, finished todos, other commands, changed files, open
    todos, in each of these the oldest first; last the user's requests, without the questions that they answer, sentence
    by sentence. `wanted` entries (paths of files, or texts) go after all but the requests. If not even the number of
    dropped entries fits, the ledger is empty.
    """
    if ledger.requests and count(render(ledger)) > max_tokens:
        ledger = _words_alone(ledger)
    fitted = _fitted(ledger, max_tokens, count, wanted)
    if len(fitted.requests) == len(ledger.requests):
        return fitted

    bare = _without(ledger, [entry for entry in _least_useful_first(ledger) if entry[0] != "requests"])

    def with_texts(texts: Sequence[str]) -> Ledger:
        gone: list[_Position] = [("requests", number) for number, text in enumerate(texts) if not text]
        requests = tuple(replace(found, text=text) for found, text in zip(bare.requests, texts, strict=True))
        return _without(replace(bare, requests=requests), gone)

    def measure(texts: Sequence[str]) -> int:
        return count(render(with_texts(texts)))

    texts = quoted(bare.requests, max_tokens, count, measure)
    return with_texts(texts) if measure(texts) <= max_tokens else Ledger()


def _words_alone(ledger: Ledger) -> Ledger:
    return replace(ledger, requests=tuple(replace(request, answers="", outcome="") for request in ledger.requests))


def _fitted(ledger: Ledger, max_tokens: int, count: Counter, wanted: Collection[str]) -> Ledger:
    excess = count(render(ledger)) - max_tokens
    if excess <= 0:
        return ledger
    order = sorted(_least_useful_first(ledger), key=lambda entry: _is_wanted(ledger, entry, wanted))
    text_of = _texts(ledger)
    fitted, dropped = ledger, 0
    while excess > 0 and dropped < len(order):
        while excess > 0 and dropped < len(order):
            excess -= count(text_of(order[dropped])) + 1
            dropped += 1
        fitted = _without(ledger, order[:dropped])
        excess = count(render(fitted)) - max_tokens
    return fitted if excess <= 0 else Ledger()


def _least_useful_first(ledger: Ledger) -> Iterator[_Position]:
    went_well = [command.outcome in (OK, ENDED) and not command.error for command in ledger.commands]
    is_done = [todo.status in DONE for todo in ledger.todos]
    yield from (("read", number) for number in range(len(ledger.read)))
    yield from (("commands", number) for number, good in enumerate(went_well) if good)
    yield from (("todos", number) for number, done in enumerate(is_done) if done)
    yield from (("commands", number) for number, good in enumerate(went_well) if not good)
    yield from (("changed", number) for number in range(len(ledger.changed)))
    yield from (("todos", number) for number, done in enumerate(is_done) if not done)
    yield from (("requests", number) for number in range(len(ledger.requests)))


def _is_wanted(ledger: Ledger, entry: _Position, wanted: Collection[str]) -> int:
    section, number = entry
    if section == "requests":
        return 2
    name = getattr(ledger, section)[number]
    return int((name.path if isinstance(name, FileEntry) else name.text) in wanted)


def _texts(ledger: Ledger) -> Callable[[_Position], str]:
    folder = {"read": common_folder(ledger.read), "changed": common_folder(ledger.changed)}

    def text(entry: _Position) -> str:
        section, number = entry
        match section:
            case "read" | "changed":
                return file_text(getattr(ledger, section)[number], folder[section])
            case "commands":
                return command_text(ledger.commands[number])
            case "todos":
                return todo_text(ledger.todos[number])
            case "requests":
                return request_text(ledger.requests[number])
            case other:
                assert_never(other)

    return text


def _without(ledger: Ledger, dropped: list[_Position]) -> Ledger:
    gone = set(dropped)
    sections = {
        section: tuple(entry for number, entry in enumerate(getattr(ledger, section)) if (section, number) not in gone)
        for section in get_args(_Section)
    }
    amounts = {section: len(getattr(ledger, section)) - len(entries) for section, entries in sections.items()}
    left_out = ledger.left_out.plus(LeftOutEntries(**amounts))
    # A dropped list is only reported as dropped; an empty one would say that all is done.
    is_whole_list = ledger.is_whole_list and (bool(sections["todos"]) or not amounts["todos"])
    return replace(ledger, left_out=left_out, is_whole_list=is_whole_list, **sections)


_LONGEST_LEDGER: Final = 3_000
_LEDGER_SHARE: Final = 10
_ROOM_SHARE: Final = 3
_QUESTIONS: Final = 20
"""Limits of a ledger, in tokens: the first number, a tenth of what is summarized, half of what is allowed. The user's
words may exceed that, and leave half of it to the rest. Of a target's room the rest takes at most a third, and the
questions that short replies answer a twentieth."""

FRAME: Final = 36
"""Tokens of the mark, and of the text between summary and ledger."""


class SummaryLimits(Struct, frozen=True):
    """Tokens that a summary may have: `most` by the configuration, and the `room` that a target leaves.

    The user's words may exceed that, unless it `gives_up_words`.
    """

    most: int | None = None
    room: int | None = None
    gives_up_words: bool = False

    def share(self, part: int, whole: int) -> SummaryLimits:
        """Return the limits of one summary among several, by its part of all that is summarized."""
        most, room = (None if limit is None else limit * part // whole for limit in (self.most, self.room))
        return SummaryLimits(most, room, self.gives_up_words)


class SummarizedStretch(Struct, frozen=True):
    """Messages and their tokens; `new` are those that no summary covers yet.

    `said_before` are the words of earlier summaries, `listed_before` is their ledger; `ledger` covers everything up
    to now. `positions` are those of the messages, if needed.
    """

    messages: Sequence[Message]
    new: Sequence[Message]
    said_before: str
    listed_before: Ledger
    ledger: Ledger
    costs: int
    positions: Sequence[int] = ()

    @classmethod
    def of(cls, messages: Sequence[Message], count: Counter, positions: Sequence[int] = ()) -> SummarizedStretch:
        earlier = _earlier(messages)
        new = [message for message in messages if not message.is_summary]
        ledger = merge(earlier.ledger, collect(new))
        costs = sum(map(count.message, messages))
        return cls(messages, new, earlier.body, earlier.ledger, ledger, costs, positions)

    def listed(self, limits: SummaryLimits, count: Counter, wanted: Collection[str] = ()) -> str:
        """Write the ledger, short enough that the summary stays the larger part.

        It holds all of the user's words, unless they are given up for lack of room; `wanted` entries go after
        others. Entries of earlier ledgers have as much room as they had there.
        """
        ledger = self.ledger if limits.room is None else _without_outdated(self.ledger)
        if limits.room is not None:
            bare = _words_alone(ledger)
            if count(render(ledger)) - count(render(bare)) > limits.room // _QUESTIONS:
                ledger = bare
        longest = _LONGEST_LEDGER if limits.most is None else min(_LONGEST_LEDGER, limits.most // 2)
        allowed = min(longest, sum(map(count.message, self.new)) // _LEDGER_SHARE)
        said, quoted = (count(render(Ledger(requests=each.requests))) for each in (ledger, self.listed_before))
        room = self.costs if limits.room is None else max(0, limits.room - FRAME)
        before = count(render(replace(self.listed_before, requests=())))
        others = min(longest, before + max(allowed - (said - quoted), allowed // 2))
        # Without a target, no earlier entry makes room for new ones.
        others = min(others, max(0, room - said) // _ROOM_SHARE + (before if limits.room is None else 0))
        fitted = replace(fit(replace(ledger, requests=()), others, count, wanted), requests=ledger.requests)
        return render(fit(fitted, room, count) if limits.gives_up_words else fitted)


def _without_outdated(ledger: Ledger) -> Ledger:
    """Return the ledger without requests that say nothing but what the user corrected, or said again, later."""
    statements = [sentences_of(request.text) for request in ledger.requests]
    return _without(ledger, [("requests", number) for number in outdated_statements(statements)])


class _Earlier(Struct, frozen=True):
    """Words of earlier summaries, and the entries of their ledgers."""

    body: str
    ledger: Ledger


def _earlier(messages: Sequence[Message]) -> _Earlier:
    texts = [block.text for message in messages for block in message.blocks if block.summarizes and block.text != GO_ON]
    bodies = [text.partition("\n")[2] if parse_summary(text) else text for text in texts]
    ledgers = [parse(body) for body in bodies]
    said = [
        body.rpartition(OPENING)[0].rstrip("\n") if ledger else body
        for body, ledger in zip(bodies, ledgers, strict=True)
    ]
    return _Earlier("\n\n".join(said), merge_all([ledger for ledger in ledgers if ledger]))


def said_by_summaries(messages: Sequence[Message]) -> str:
    """Return the words of earlier summaries, without their ledgers."""
    return _earlier(messages).body


def said_by_summary(message: Message) -> Message:
    """Return the words of an earlier summary as an assistant message."""
    block = replace(message.blocks[0].with_text(said_by_summaries([message])), summarizes=True)
    return replace(message, role=Role.ASSISTANT, blocks=(block,))
