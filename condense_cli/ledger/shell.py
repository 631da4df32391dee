"""What a command line does to files, as far as its words tell: `cat`, `sed -n`, `rm`, `mv`, `sed -i`, `>` and the like.

Only plain names count. Words with variables or wildcards, and programs nobody knows here, are left alone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern

_HEREDOC: Final = lazy_pattern(r"(?<!<)<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_LONGEST: Final = 4_000
"""A command line of more characters, here documents aside, is a program: nobody can tell what it does to files."""

_SEPARATORS: Final = frozenset({"&&", "||", ";", "|", "&", "|&", ";;", "(", ")"})
_PLAIN: Final = lazy_pattern(r"[^\s$`*?{}\[\]<>|&;()'\"!=,:@]+")
_ASSIGNMENT: Final = lazy_pattern(r"[A-Za-z_]\w*=.*")
_PREFIXES: Final = frozenset({"sudo", "command", "time", "nohup", "then", "do", "else"})
_PRINTERS: Final = frozenset({"cat", "head", "tail", "nl", "less", "more", "bat", "Get-Content"})
_SCRIPTS: Final = ("-e", "-f", "--expression", "--file")
"""Options of sed that hold, or name, what to do; without one the first word does."""

_WITH_VALUE: Final = {
    "head": frozenset({"-n", "-c"}),
    "tail": frozenset({"-n", "-c"}),
    "nl": frozenset({"-b", "-n", "-v", "-w"}),
    "Get-Content": frozenset({"-TotalCount", "-Head", "-First", "-Tail", "-Last", "-Encoding"}),
    "sed": frozenset(_SCRIPTS),
}
"""Options whose value is a word of its own."""

Kind = Literal["read", "written", "edited", "deleted", "moved"]


class Effect(Struct, frozen=True):
    """What happens to a file; `target` is where it goes when it is moved."""

    kind: Kind
    path: str
    target: str = ""


def file_effects(command: str) -> Iterator[Effect]:
    """Effects of a command line in order; paths are joined to the folder that an earlier `cd` in it goes to."""
    code = "\n".join(_without_here_documents(command))
    if len(code) > _LONGEST:
        return
    lexer = shlex.shlex(code.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return
    folder = ""
    for segment in _segments(words):
        if segment[0] == "cd" and len(segment) == 2 and _PLAIN.fullmatch(segment[1]):
            folder = _joined(folder, segment[1])
            continue
        for effect in _effects(segment):
            target = _joined(folder, effect.target) if effect.target else ""
            yield Effect(effect.kind, _joined(folder, effect.path), target)


def _without_here_documents(command: str) -> Iterator[str]:
    ending = None
    for line in command.split("\n"):
        if ending is not None:
            ending = None if line.strip() == ending else ending
            continue
        yield line
        opened = _HEREDOC.search(line) if "<<" in line else None
        ending = opened[2] if opened else None


def _segments(words: Sequence[str]) -> Iterator[list[str]]:
    segment: list[str] = []
    for word in (*words, ";"):
        if word not in _SEPARATORS:
            if segment or not (word in _PREFIXES or _ASSIGNMENT.fullmatch(word)):
                segment.append(word)
        elif segment:
            yield segment
            segment = []


def _effects(segment: list[str]) -> Iterator[Effect]:
    words, targets = _redirections(segment)
    program, arguments = (words[0], words[1:]) if words else ("", [])
    # With --cached it stays on the disk.
    if program == "git" and arguments[:1] in (["rm"], ["mv"]) and "--cached" not in arguments:
        program, arguments = arguments[0], arguments[1:]
    operands = _operands(program, arguments)
    if program == "sed" and not any(word.startswith(_SCRIPTS) for word in arguments):
        operands = operands[1:]
    files = [word for word in operands if _PLAIN.fullmatch(word)]
    if program in _PRINTERS:
        yield from (Effect("read", word) for word in files if not word.startswith("+"))
    elif program == "sed":
        in_place = any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in arguments)
        yield from (Effect("edited" if in_place else "read", word) for word in files)
    elif program == "rm":
        yield from (Effect("deleted", word) for word in files)
    elif program == "mv" and len(files) == 2:
        target = files[1] + files[0].rpartition("/")[2] if files[1].endswith("/") else files[1]
        yield Effect("moved", files[0], target)
    elif program == "cp" and len(files) == 2 and not files[1].endswith("/"):
        yield Effect("written", files[1])
    elif program in ("touch", "tee"):
        yield from (Effect("written", word) for word in files)
    yield from (Effect("written", target) for target in targets)


def _operands(program: str, arguments: Sequence[str]) -> list[str]:
    """The words that are neither options nor values of options, as the empty one after `sed -i` on a Mac is."""
    with_value = _WITH_VALUE.get(program, ())
    before = ("", *arguments)
    return [
        word
        for option, word in zip(before, arguments, strict=False)
        if word and not word.startswith("-") and option not in with_value
    ]


def _redirections(segment: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that are no redirection, and the files that output goes to."""
    words: list[str] = []
    targets: list[str] = []
    rest = iter(segment)
    for word in rest:
        if word in (">", ">>", ">|", "&>", ">&"):
            target = next(rest, "")
            is_error = bool(words) and words[-1] == "2"
            if words and words[-1] in ("1", "2"):
                words.pop()
            if not is_error and _PLAIN.fullmatch(target) and not target.isdigit() and not target.startswith("/dev/"):
                targets.append(target)
        elif word.startswith("<"):
            next(rest, "")
        else:
            words.append(word)
    return words, targets


def _joined(folder: str, path: str) -> str:
    if not folder or path.startswith(("/", "~")):
        return path
    return f"{folder.rstrip('/')}/{path.removeprefix('./')}"
