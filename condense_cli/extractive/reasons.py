"""Explain why lines of a text went or stayed, in what the extraction knows of them.

Read once for all of these: which later texts name a fact or show a line, and which of them still do.

A reason is a fact of the conversation that anybody can look up: where a message is named, that one names it. Of several
the one goes first that weighs most in the choice.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, groupby, islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.markers import ELLIPSIS, Gap
from ..core.text_facts import facts_of
from ..core.transcript import Block, BlockPlace, Message
from ..core.values import BlockKind
from ..tokens.counting import Counter
from ..toolcalls import tools
from ..toolcalls.outcomes import DENIED, ENDED, OK, Results, command_outcome, tells_failure
from ..toolcalls.tools import command_lines, main_argument, name_of, patched_paths, paths, writes_a_file
from .choice import AGAIN
from .parts import Key, Part
from .reason import LineReason, Reason, ReasonedLine
from .survey import Survey
from .units import Units, split
from .versions import DECISION, SHORTEST_LINE, tells_an_error

_PROGRAM: Final = re.compile(r"(?<![\w./$=-])[A-Za-z][\w.-]*(?![\w/=])")
_IN_ALL: Final = frozenset({"cat", "cd", "echo", "grep", "head", "sleep", "sort", "tail", "tee", "true"})
"""Words of commands that say nothing of what they are for."""


class Failures:
    """The calls of a conversation that failed and were not done again with success."""

    def __init__(self, parts: Iterable[Part]) -> None:
        answers: defaultdict[int, list[Part]] = defaultdict(list)
        for part in parts:
            if part.is_result and part.call is not None:
                answers[id(part.call)].append(part)
        well: set[str] = set()
        self._unsolved: set[int] = set()
        for call, found in reversed(answers.items()):
            of_call = found[0].call
            assert of_call is not None
            aims = _aims(of_call)
            if not _has_failed(found):
                well |= aims
            elif well.isdisjoint(aims):
                self._unsolved.add(call)

    def is_unsolved(self, part: Part) -> bool:
        """Whether a part is the result of such a call."""
        return part.is_result and id(part.call) in self._unsolved


def _has_failed(parts: Iterable[Part]) -> bool:
    """Whether a call did not do what it should; what the user did not allow is no failure."""
    parts = list(parts)
    blocks = tuple(part.block for part in parts)
    results = Results(blocks, any(tells_failure(part.role, part.block) for part in parts))
    outcome = command_outcome(results).outcome
    return outcome != DENIED and (outcome not in (OK, ENDED) or results.is_refused)


def _aims(call: Block) -> set[str]:
    """Return a call's subject: files that it changes, words of its commands, or the tool with its main argument."""
    if changed := writes_a_file(call) and (patched_paths(call) or paths(call)):
        return {f"change {path}" for path in changed}
    words = {word for line in command_lines(call) for word in _PROGRAM.findall(line)} - _IN_ALL
    return words or {f"{name_of(call)} {main_argument(call)}"}


_FILE_NAME: Final = re.compile(r"(?<![^\s'\"|;&<>()])[^\s'\"|;&<>()]*[\w-]\.[A-Za-z]\w*(?=[\s'\"|;&<>()]|$)")
"""A word of a command that ends as files do; another one may be anything."""

_PLAIN: Final = frozenset("+ ")
"""How lines of a patch begin that are in the file afterwards."""


class Edit(Struct, frozen=True):
    """A change of a file that was made: where its arguments are, and the lines that are no longer in the file.

    One that `replaces_all` puts a whole file in place, with the lines `written`.
    """

    key: Key
    replaced: frozenset[str]
    replaces_all: bool
    written: frozenset[str]


class FileWork:
    """The edits of every file, in order."""

    def __init__(self, parts: Iterable[Part]) -> None:
        parts = [part for part in parts if part.call is not None]
        failed = {id(part.call) for part in parts if part.is_result and tools.has_failed(part.block)}
        self._paths: dict[int, tuple[str, ...]] = {}
        self._edits: dict[str, list[tuple[str, Edit]]] = {}
        seen: set[int] = set()
        for part in parts:
            call = part.call
            if call is None or not part.is_argument or id(call) in failed or id(call) in seen:
                continue
            seen.add(id(call))
            if tools.writes_a_file(call):
                edit = _edit(part.key, call)
                for path in self.paths(call):
                    self._edits.setdefault(_name(path), []).append((path, edit))

    def paths(self, call: Block | None) -> tuple[str, ...]:
        """The files that a call reads, prints or writes; of a command every word that is one by its ending."""
        if call is None:
            return ()
        known = self._paths.get(id(call))
        if known is None:
            known = self._paths[id(call)] = tuple(_paths(call))
        return known

    def edits_after(self, key: Key, call: Block | None) -> Iterator[Edit]:
        """The later edits of the files that a call is about, in order."""
        for path in self.paths(call):
            for other, edit in self._edits.get(_name(path), ()):
                # A call does not come after itself, whichever of its arguments is asked about.
                if edit.key[:2] > key[:2] and is_same_file(path, other):
                    yield edit


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths name one file: they are equal, or the one in a folder is the end of the other."""
    shorter, longer = sorted((one.removeprefix("./"), other.removeprefix("./")), key=len)
    return longer == shorter or ("/" in shorter and longer.endswith(f"/{shorter}"))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _paths(call: Block) -> Iterator[str]:
    if tools.writes_a_file(call) or tools.reads_a_file(call):
        yield from tools.patched_paths(call) or tools.paths(call)
    elif tools.prints_a_file(call):
        yield from _FILE_NAME.findall(tools.main_argument(call))


def _edit(key: Key, call: Block) -> Edit:
    matched = tools.matched_texts(call)
    written: set[str] = set()
    for _, value in tools.string_values(tools.arguments_of(call) or {"input": call.text}):
        if value not in matched:
            lines = value.split("\n")
            written.update(lines)
            # In a patch they have a sign before them.
            written.update(line[1:] for line in lines if line[:1] in _PLAIN)
    replaced = frozenset(line for text in matched for line in text.split("\n")) - written
    return Edit(key, replaced, tools.replaces_a_file(call), frozenset(written))


def lines_of(units: Units) -> list[str]:
    """The lines of a text as its units make them up, without markers; of one that was cut inside, what is left."""
    return ["".join(units.texts[start:stop]) for start, stop in _bounds(units)]


def unit_lines(units: Units) -> list[int]:
    """For every unit the number of its line among `lines_of`."""
    return [number for number, (start, stop) in enumerate(_bounds(units)) for _ in range(start, stop)]


def which_remain(before: Units, after: Units) -> list[bool] | None:
    """For every line of a text whether it is in what was left of it, in whole or in part.

    None where that is no cut version of the text.
    """
    old, bare = lines_of(before), lines_of(replace(before, texts=before.bodies))
    remain = [False] * len(old)
    position = 0
    for (start, _), line in zip(_bounds(after), lines_of(after), strict=True):
        if not before.gaps:  # Equal lines are told apart by how many are missing before them.
            position += after.gaps.get(start, Gap("")).lines
        while position < len(old) and not (_is_rest_of(line, old[position]) or line == bare[position]):
            position += 1
        if position >= len(old):
            return None
        remain[position] = True
        position += 1
    return remain


def _bounds(units: Units) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(units.texts):
        stop = max(units.stops[start], start + 1)
        yield start, stop
        start = stop


def _is_rest_of(line: str, old: str) -> bool:
    """Whether a line is the older one, or its two ends with a gap between them."""
    if line == old:
        return True
    head, found, _ = line.partition(ELLIPSIS)
    return bool(found) and old.startswith(head) and old.endswith(line.rpartition(ELLIPSIS)[2])


_LOOKED_AT: Final = 64
"""A line may be shown thousands of times."""

_SHOWN: Final = 3
"""Shorter lines, such as a closing bracket, are anywhere."""


class CopyEvidence:
    """Facts and lines of the parts at some addresses, followed through a conversation.

    `left` has for every part that changed what is left of its text, None where nothing is. `added` are texts that
    came in with a cut, such as summaries. Only the parts at addresses that are `asked` are followed.
    """

    def __init__(
        self, survey: Survey, left: Mapping[Key, str | None], added: Iterable[str], asked: Collection[BlockPlace]
    ) -> None:
        self.survey = survey
        self.remain: dict[Key, list[bool] | None] = {}
        """Of every part that is asked for which of its lines remain; None for one that became another text."""
        self.mentions: defaultdict[int, list[Key]] = defaultdict(list)
        """The parts that name a fact, in order."""
        self._written: defaultdict[int, list[Key]] = defaultdict(list)
        """Those of them that the user or the assistant wrote."""
        self._remaining: defaultdict[int, list[Key]] = defaultdict(list)
        """The parts that still name it."""
        self._shown: defaultdict[str, list[Key]] = defaultdict(list)
        """The parts in which a line remains, in order."""
        keys = [key for key in left if key[:2] in asked]
        numbers = {number for key in keys for unit in survey.keys[key] for number in unit}
        self._facts = {survey.facts[number]: number for number in numbers if number < len(survey.facts)}
        self._follow(left, {body for key in keys for body in survey.units[key].bodies if len(body.strip()) >= _SHOWN})
        self.added = {number for text in added for number in self._facts_in(text)}
        """Facts that texts name which came in."""
        self._aside = self._unread()
        for key in keys:
            text, units = left[key], survey.units[key]
            self.remain[key] = which_remain(units, split(text)) if text else [False] * len(lines_of(units))

    def _follow(self, left: Mapping[Key, str | None], lines: set[str]) -> None:
        survey = self.survey
        facts = {*self._facts.values()}
        for key, part in survey.parts.items():
            named = facts.intersection(chain.from_iterable(survey.keys[key]))
            for number in named:
                self.mentions[number].append(key)
                if part.is_request or part.is_written:
                    self._written[number].append(key)
            bodies = survey.units[key].bodies
            if key in left:
                units = split(left[key] or "")
                bodies, named = units.bodies, {*self._facts_in("\n".join(units.texts))}
            for number in named:
                self._remaining[number].append(key)
            for body in lines.intersection(bodies):
                self._shown[body].append(key)

    def _facts_in(self, text: str) -> Iterator[int]:
        return (self._facts[fact] for fact in facts_of(text) if fact in self._facts)

    def _unread(self) -> dict[int, BlockPlace]:
        """Where thinking, or what only the API reads, names a fact last: the extraction does not read these."""
        return {
            fact: (position, number)
            for position, message in enumerate(self.survey.messages)
            for number, block in enumerate(message.blocks)
            if block.kind is BlockKind.THINKING or (block.kind is BlockKind.OPAQUE and not block.is_readable)
            for fact in self._facts_in(block.text)
        }

    def named_after(self, fact: int, key: Key) -> Key | None:
        """The newest part of a later message that names a fact, if there is one that no tool wrote."""
        # What the assistant or the user wrote tells more than what some result lists.
        found = (keys[-1] for keys in (self._written[fact], self.mentions[fact]) if keys)
        return next((other for other in found if other[0] > key[0]), None)

    def written_before(self, fact: int, key: Key) -> Key | None:
        """The newest earlier part that names a fact and that no tool wrote."""
        number = bisect_left(self._written[fact], key)
        return self._written[fact][number - 1] if number else None

    def is_named_after(self, fact: int, key: Key) -> bool:
        """Whether anything later names a fact, thinking included."""
        return self.mentions[fact][-1] > key or self._aside.get(fact, (-1, -1)) > key[:2]

    def still_names(self, fact: int, key: Key) -> Key | None:
        """The newest part besides this one that still names a fact."""
        return next((other for other in reversed(self._remaining[fact]) if other != key), None)

    def is_said_elsewhere(self, fact: int, key: Key) -> bool:
        """Whether anything that is left besides a part names a fact, thinking included."""
        return fact in self.added or fact in self._aside or self.still_names(fact, key) is not None

    def shown_again(self, body: str, key: Key) -> Iterator[Key]:
        """The later parts in which a line remains, the newest first."""
        for other in islice(reversed(self._shown.get(body, ())), _LOOKED_AT):
            if other <= key:
                return
            yield other

    @cached_property
    def files(self) -> FileWork:
        return FileWork(self.survey.parts.values())

    @cached_property
    def failures(self) -> Failures:
        return Failures(self.survey.parts.values())

    def shows_same_file(self, one: Part, other: Part) -> bool:
        """Whether two results show the same file."""
        if not (one.is_result and other.is_result):
            return False
        return any(
            is_same_file(path, again) for path in self.files.paths(one.call) for again in self.files.paths(other.call)
        )


_TELLING: Final = 20
"""A line of fewer characters that names nothing may be the same by chance."""

_NOTHING: Final = LineReason(Reason.UNNAMED)
_BESIDE: Final = LineReason(Reason.BESIDE)


class Reasons:
    """Why the lines of texts at some addresses went or stayed.

    `messages` are the conversation before the cut, without references. `left` has for every part of it that changed
    what is left of its text, None where nothing is; `added` are texts that came in. Only addresses that are `asked`
    are answered for.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        left: Mapping[Key, str | None],
        added: Iterable[str],
        asked: Collection[BlockPlace],
        count: Counter,
    ) -> None:
        self._survey = survey = Survey(messages, count)
        left = {key: text for key, text in left.items() if key in survey.parts}
        self._evidence = CopyEvidence(survey, left, added, asked)
        self._keys: dict[BlockPlace, list[Key]] = {}
        for key in self._evidence.remain:
            self._keys.setdefault(key[:2], []).append(key)

    def of(self, address: BlockPlace) -> list[ReasonedLine]:
        """The lines of a block's texts that were cut, each with its reason; none where nobody knows which are left."""
        return [line for key in self._keys.get(address, ()) for line in self._of_part(key)]

    def _of_part(self, key: Key) -> Iterator[ReasonedLine]:
        remain = self._evidence.remain[key]
        if remain is None:
            return
        part, units = self._survey.parts[key], self._survey.units[key]
        lines = lines_of(units)
        of_line: list[list[int]] = [[] for _ in lines]
        for unit, line in enumerate(unit_lines(units)):
            of_line[line].append(unit)
        found: list[LineReason | None] = []
        for own, stays in zip(of_line, remain, strict=True):
            body = "".join(units.bodies[unit] for unit in own)
            numbers = sorted({number for unit in own for number in self._survey.keys[key][unit]})
            decide = self._stays if stays else self._went
            found.append(decide(part, body, numbers, own[0]) if len(body.strip()) >= SHORTEST_LINE else None)
        for stays, run in groupby(range(len(lines)), key=remain.__getitem__):
            of_run = [*run]
            for line, why in zip(of_run, _filled([found[line] for line in of_run], stays=stays), strict=True):
                yield ReasonedLine(lines[line], stays, why)

    def _index(self, key: Key) -> int:
        return self._survey.messages[key[0]].index

    def _went(self, part: Part, body: str, numbers: Sequence[int], unit: int) -> LineReason:
        evidence, key = self._evidence, part.key
        facts = [number for number in numbers if number < len(self._survey.facts)]
        later = [*evidence.shown_again(body, key)]
        for again in later:
            if evidence.shows_same_file(part, self._survey.parts[again]):
                return LineReason(Reason.SEEN_AGAIN, self._index(again))
        if body not in self._survey.lines:
            for edit in evidence.files.edits_after(key, part.call):
                if body in edit.replaced:
                    return LineReason(Reason.REPLACED, self._index(edit.key))
                if edit.replaces_all and body not in edit.written:
                    return LineReason(Reason.OVERWRITTEN, self._index(edit.key))
        if later and later[0][0] != key[0] and (facts or len(body.strip()) >= _TELLING):
            return LineReason(Reason.REPEATED, self._index(later[0]))
        if unit in self._said_again.get(key, ()):
            return LineReason(Reason.REPEATED)
        named = [fact for fact in facts if evidence.is_named_after(fact, key)]
        if not named:
            return _NOTHING
        if all(fact in evidence.added or evidence.still_names(fact, key) for fact in named):
            for fact in sorted(named, key=self._survey.weights.__getitem__, reverse=True):
                if (other := evidence.still_names(fact, key)) and other[0] != key[0]:
                    return LineReason(Reason.NAMED_ELSEWHERE, self._index(other), self._survey.facts[fact])
        return LineReason(Reason.LESS_WORTH)

    def _stays(self, part: Part, body: str, numbers: Sequence[int], unit: int) -> LineReason | None:
        survey, evidence = self._survey, self._evidence
        key = part.key
        own = self._own.get(key[:2], ())
        if own is None or unit in own:
            return LineReason(Reason.OWN_WORDS)
        if tells_an_error(body) and evidence.failures.is_unsolved(part):
            return LineReason(Reason.UNSOLVED_ERROR)
        facts = sorted((number for number in numbers if number < len(survey.facts)), key=partial(self._adds, key))
        line = max((survey.weights[number] for number in numbers if number >= len(survey.facts)), default=0.0)
        if line and (not facts or line >= self._adds(key, facts[-1])) and (why := self._of_file(part, body)):
            return why
        if facts:
            return self._of_facts(part, facts[::-1])
        return LineReason(Reason.DECISION) if part.is_said and DECISION.search(body) else None

    def _of_file(self, part: Part, body: str) -> LineReason | None:
        """Why a line stays that an edit may have to match; None where it is another text that shows it last."""
        edits = [*self._evidence.files.edits_after(part.key, part.call)]
        if edits:
            return LineReason(Reason.EDITED_LATER, self._index(edits[-1].key))
        line = self._survey.lines.get(body)
        is_newest = line is not None and line.position == self._survey.positions[part.key]
        return LineReason(Reason.NEWEST_STATE) if is_newest else None

    def _of_facts(self, part: Part, facts: Sequence[int]) -> LineReason:
        """Why a line stays for what it names; the facts are in the order of what they add."""
        survey, evidence, key = self._survey, self._evidence, part.key
        for fact in facts:
            name = survey.facts[fact]
            if later := evidence.named_after(fact, key):
                return LineReason(Reason.NAMED_AGAIN, self._index(later), name)
            if earlier := evidence.written_before(fact, key):
                reason = Reason.ASKED_FOR if survey.parts[earlier].is_request else Reason.NAMED_BEFORE
                return LineReason(reason, self._index(earlier), name)
            if not evidence.is_said_elsewhere(fact, key):
                return LineReason(Reason.SAID_HERE_ONLY, None, name)
        return LineReason(Reason.LIKELY)

    def _adds(self, key: Key, fact: int) -> float:
        """Return the worth of a fact in a part: little if another part still names it."""
        is_said = fact in self._evidence.added or self._evidence.still_names(fact, key)
        return self._survey.weights[fact] * (AGAIN if is_said else 1.0)

    # Sets, since each line of a text that says the same thousands of times is looked for in them.
    @cached_property
    def _own(self) -> dict[BlockPlace, frozenset[int] | None]:
        return {address: None if units is None else frozenset(units) for address, units in self._survey.own.items()}

    @cached_property
    def _said_again(self) -> dict[Key, frozenset[int]]:
        return {key: frozenset(units) for key, units in self._survey.restated.items()}


def _filled(found: Sequence[LineReason | None], *, stays: bool) -> list[LineReason]:
    """The reasons of lines in a row that went, or that stay; those with none of their own go by the others."""
    known = next((why for why in found if why is not None), None)
    if stays:
        return [why or (_BESIDE if known else LineReason(Reason.LIKELY)) for why in found]
    filled: list[LineReason] = []
    for why in found:
        known = why or known or _NOTHING
        filled.append(known)
    return filled
