"""How many steps a regular expression takes on a text, counted, and texts that make it take many.

Python's own engine counts nothing. Here its parse tree is walked as the engine does it, backtracking included, so that
the count is the same on every machine; what is matched is compared with what the engine says.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from re import _compiler, _parser  # type: ignore[attr-defined]
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any, Final

Groups = dict[int, tuple[int, int]]
Goal = Callable[[int, Groups], "tuple[int, Groups] | None"]
"""What is left to match, from a position on: where it ends, or None."""
Step = Callable[[int, Groups, Goal], "tuple[int, Groups] | None"]

_ONE: Final = (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN)
_REPEATS: Final = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_BOUND: Final = 6
"""Of more a counted repeat is cut to this: it takes so many steps for each character, however long the text is."""
_COUNTS: Final = (10, 20, 30)
_MOST: Final = 400
"""Steps for a character, beyond which nobody waits for an end."""
_DEEPEST: Final = 50_000
"""Calls within each other: each character that a repeat takes is some."""
_ALPHABET: Final = " a0\n\tAZ_-./\\\"'`<>[](){}#:;=,|&*~?!$%@+^\r\x00é中…。"


class TooManySteps(Exception):
    """A pattern takes more steps than can be counted here."""


class CountedPattern:
    """A pattern whose steps are counted. `method`: "match" or "fullmatch", or "search", which counts the search for
    further matches as well, as `finditer` does it.
    """

    def __init__(self, pattern: str | bytes, flags: int, method: str) -> None:
        self.text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
        tree = _parser.parse(self.text, flags if isinstance(pattern, str) else flags | re.ASCII)
        self._state, self._flags, self._method = tree.state, tree.state.flags, method
        self._nodes = [*_cut(tree), *([(ops.AT, ops.AT_END_STRING)] if method == "fullmatch" else ())]
        self._engine = self._compiled(self._nodes, self._flags)
        self._run_all = self._sequence(self._nodes, self._flags)
        self._steps = self._limit = 0
        self._subject = ""

    def steps(self, text: str) -> int:
        """Steps taken on a text. Raises TooManySteps, and AssertionError where the engine matches otherwise."""
        self._steps, self._limit, self._subject = 0, _MOST * len(text), text
        start = 0
        while start <= len(text):
            self._add(1)
            found = self._run_all(start, {}, _end)
            match = self._engine.match(text, start)
            assert (found and found[0]) == (match and match.end()), (self.text, text)
            if self._method != "search":
                break
            start = max(start + 1, found[0]) if found else start + 1
        return self._steps

    def faults(self) -> Iterator[str]:
        """Texts whose length the steps outgrow: something that a repeat takes, many times, with others at both ends."""
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(_DEEPEST)
        try:
            for head, word, tail in self._pumps():
                if self._outgrows(head, word, tail):
                    yield head + word * 3 + tail
        finally:
            sys.setrecursionlimit(before)

    def _outgrows(self, head: str, word: str, tail: str) -> bool:
        few, more, most = (head + word * count + tail for count in _COUNTS)
        try:
            steps = self.steps(most)
            if steps <= 6 * len(most):
                return False
            # Nothing where each word takes the same; where it takes one more than the last, the square of the count.
            return steps - 2 * self.steps(more) + self.steps(few) > 4 * _COUNTS[0]
        except TooManySteps:
            return True

    def _pumps(self) -> Iterator[tuple[str, str, str]]:
        parts = _Parts(self._compiled)
        parts.add(self._nodes, self._flags, "")
        heads = sorted(parts.heads)
        for character in parts.characters():
            tails = dict.fromkeys(("\x00", "\n\x00", parts.stop(character)))
            yield from ((head, character, tail) for head in heads for tail in tails)
        for body in sorted(parts.bodies - {""}):
            yield from ((head, body, "\x00") for head in heads)
        for word in sorted(parts.words - {""}):
            yield from (("", word, tail) for tail in ("\x00", "\n\x00"))

    def _add(self, steps: int) -> None:
        self._steps += steps
        if self._steps > self._limit:
            raise TooManySteps

    def _compiled(self, nodes: Sequence[Any], flags: int) -> re.Pattern[str]:
        compiled = _compiler.compile(_parser.SubPattern(self._state, [*nodes]), flags)
        assert isinstance(compiled, re.Pattern)
        return compiled

    def _sequence(self, nodes: Sequence[Any], flags: int) -> Step:
        steps = [self._step(node, flags) for node in nodes]

        def run(position: int, groups: Groups, goal: Goal, number: int = 0) -> tuple[int, Groups] | None:
            if number == len(steps):
                return goal(position, groups)
            return steps[number](position, groups, lambda end, now: run(end, now, goal, number + 1))

        return run

    def _step(self, node: Any, flags: int) -> Step:
        op, given = node
        if op in _ONE or op is ops.AT:
            return self._single(node, flags)
        if op in _REPEATS:
            least, most, body = given
            if len(body) == 1 and body[0][0] in _ONE:
                return self._run(op, least, most, body, flags)
            return self._repeat(op, least, most, self._sequence(list(body), flags))
        if op is ops.BRANCH:
            return self._branch([self._sequence(list(branch), flags) for branch in given[1]])
        if op is ops.SUBPATTERN:
            group, add, remove, body = given
            return self._group(group, self._sequence(list(body), (flags | add) & ~remove))
        if op is ops.ATOMIC_GROUP:
            return self._atomic(self._sequence(list(given), flags))
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            back = given[1].getwidth()[0] if given[0] < 0 else 0
            return self._look(self._sequence(list(given[1]), flags), back, is_wanted=op is ops.ASSERT)
        if op is ops.GROUPREF:
            return self._again(given)
        raise AssertionError(f"{op} of {self.text} is not known here")

    def _single(self, node: Any, flags: int) -> Step:
        match = self._compiled([node], flags).match

        def run(position: int, groups: Groups, goal: Goal) -> tuple[int, Groups] | None:
            self._add(1)
            found = match(self._subject, position)
            return goal(found.end(), groups) if found else None

        return run

    def _run(self, op: Any, least: int, most: int, body: Any, flags: int) -> Step:
        match = self._compiled([(ops.POSSESSIVE_REPEAT, (0, most, body))], flags).match

        def run(position: int, groups: Groups, goal: Goal) -> tuple[int, Groups] | None:
            found = match(self._subject, position)
            assert found is not None
            longest = found.end() - position
            if op is ops.MIN_REPEAT:
                ends: Sequence[int] = range(least, longest + 1)
            else:
                self._add(longest)
                ends = range(longest, least - 1, -1)[: 1 if op is ops.POSSESSIVE_REPEAT else None]
            for taken in ends:
                self._add(1)
                if end := goal(position + taken, groups):
                    return end
            return None

        return run

    def _repeat(self, op: Any, least: int, most: int, body: Step) -> Step:
        def again(position: int, groups: Groups, goal: Goal, done: int, before: int) -> tuple[int, Groups] | None:
            self._add(1)

            def more() -> tuple[int, Groups] | None:
                if done >= most or (position == before and done > least):
                    return None
                return body(position, groups, lambda end, now: again(end, now, goal, done + 1, position))

            if done < least:
                return more()
            if op is ops.MIN_REPEAT:
                return goal(position, groups) or more()
            return more() or goal(position, groups)

        def run(position: int, groups: Groups, goal: Goal) -> tuple[int, Groups] | None:
            if op is not ops.POSSESSIVE_REPEAT:
                return again(position, groups, goal, 0, -1)
            done = 0
            while done < most:  # Each turn for itself: nothing of it is tried anew.
                self._add(1)
                found = body(position, groups, _end)
                if not found or (found[0] == position and done >= least):
                    break
                (position, groups), done = found, done + 1
            return goal(position, groups) if done >= least else None

        return run

    def _branch(self, branches: Sequence[Step]) -> Step:
        def run(position: int, groups: Groups, goal: Goal) -> tuple[int, Groups] | None:
            for branch in branches:
                self._add(1)
                if found := branch(position, groups, goal):
                    return found
            return None

        return run

    def _group(self, group: int | None, body: Step) -> Step:
        def run(position: int, groups: Groups, goal: Goal) -> tuple[int, Groups] | None:
            if group is None:
                return body(position, groups, goal)
            return body(position, groups, lambda end, now: goal(end, {**now, group: (position, end)}))

        return run

    def _atomic(self, body: Step) -> Step:
        def run(position: int, groups: Groups, goal: Goal) -> tuple[int, Groups] | None:
            found = body(position, groups, _end)
            return goal(*found) if found else None

        return run

    def _look(self, body: Step, back: int, *, is_wanted: bool) -> Step:
        def run(position: int, groups: Groups, goal: Goal) -> tuple[int, Groups] | None:
            self._add(1)
            found = body(position - back, groups, _end) if position >= back else None
            if (found is not None) is not is_wanted:
                return None
            return goal(position, found[1] if found else groups)

        return run

    def _again(self, group: int) -> Step:
        def run(position: int, groups: Groups, goal: Goal) -> tuple[int, Groups] | None:
            if group not in groups:
                return None
            text = self._subject[slice(*groups[group])]
            self._add(1 + len(text))
            return goal(position + len(text), groups) if self._subject.startswith(text, position) else None

        return run


class _Parts:
    """What repeats of a pattern take, and texts that lead to each."""

    def __init__(self, compiled: Callable[[Sequence[Any], int], re.Pattern[str]]) -> None:
        self._compiled = compiled
        self.heads: set[str] = {""}
        self.bodies: set[str] = set()
        self.words: set[str] = set()
        self._taken: dict[str, bool] = {}
        """By the characters of the alphabet that a node takes whether it is in a repeat without a bound."""

    def add(self, nodes: Sequence[Any], flags: int, head: str, *, is_repeated: bool = False) -> str:
        """What comes behind a text in a pattern. The text with an example of it is given back."""
        for op, given in nodes:
            if op in _ONE:
                head += self._character((op, given), flags, is_repeated=is_repeated)
            elif op in _REPEATS:
                least, most, body = given
                if most == ops.MAXREPEAT:
                    self.heads.add(head)
                    self.words.add(head)
                    self.bodies.add(self.add(body, flags, "", is_repeated=True))
                once = self.add(body, flags, head, is_repeated=is_repeated or most == ops.MAXREPEAT)
                head = once + once[len(head) :] * (least - 1)
            elif op is ops.BRANCH:
                heads = [self.add(branch, flags, head, is_repeated=is_repeated) for branch in given[1]]
                head = heads[0]
            elif op is ops.SUBPATTERN:
                head = self.add(given[3], (flags | given[1]) & ~given[2], head, is_repeated=is_repeated)
            elif op is ops.ATOMIC_GROUP:
                head = self.add(given, flags, head, is_repeated=is_repeated)
            elif op is ops.ASSERT:
                self.add(given[1], flags, head, is_repeated=is_repeated)
        self.words.add(head)
        return head

    def characters(self) -> Iterator[str]:
        """One of each kind that the pattern tells apart and that a repeat takes."""
        kinds: dict[tuple[bool, ...], str] = {}
        for character in _ALPHABET:
            if any(character in taken for taken, is_repeated in self._taken.items() if is_repeated):
                kinds.setdefault(tuple(character in taken for taken in self._taken), character)
        return iter(kinds.values())

    def stop(self, character: str) -> str:
        """What ends a run of a character: nothing that takes that takes this."""
        taking = [taken for taken in self._taken if character in taken]
        return next((other for other in _ALPHABET if not any(other in taken for taken in taking)), "")

    def _character(self, node: Any, flags: int, *, is_repeated: bool) -> str:
        match = self._compiled([node], flags).match
        own = chr(node[1]) if node[0] is ops.LITERAL else ""
        taken = own + "".join(character for character in _ALPHABET if match(character))
        self._taken[taken] = is_repeated or self._taken.get(taken, False)
        return taken[:1]


def _end(position: int, groups: Groups) -> tuple[int, Groups]:
    return position, groups


def _cut(nodes: Iterable[Any]) -> list[Any]:
    """Nodes of a tree with no counted repeat above the bound."""
    return [(op, _cut_value(given)) for op, given in nodes]


def _cut_value(given: Any) -> Any:
    if isinstance(given, _parser.SubPattern):
        return _parser.SubPattern(given.state, _cut(given))
    if isinstance(given, list):
        return [_cut_value(value) for value in given]
    if isinstance(given, tuple):
        if len(given) == 3 and isinstance(given[2], _parser.SubPattern):
            least, most, body = given
            return min(least, _BOUND), most if most == ops.MAXREPEAT else min(most, _BOUND), _cut_value(body)
        return tuple(_cut_value(value) for value in given)
    return given
