"""Expected errors, with exit status and advice.

CondenseError                 1  failed
├── UsageError                2  the command line asks for something impossible
│   └── ConfigurationError    2  a preset or configuration file is wrong
├── TranscriptError           3  the input cannot be used
│   ├── UnreadableError       3  the file cannot be opened or read
│   ├── NotJsonError          3  a line or the document is not JSON
│   └── UnknownFormatError    3  JSON, but not a known kind of transcript
├── OutputError               1  the result cannot be written
├── CallFailedError           5  a model's server did not answer as needed
├── GoneError                 6  a string that must be kept is gone; nothing is written
└── BrokenOutputError         1  the result would break an API rule; nothing is written
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ExitStatus(IntEnum):
    """Documented exit statuses."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INPUT = 3
    TARGET_MISSED = 4
    SHOULD_CONDENSE = 4
    CALLS_FAILED = 5
    GONE = 6
    INTERRUPTED = 130
    READER_LEFT = 141


class CondenseError(Exception):
    """Base of all errors shown to users: what is wrong and where, and optionally what to do."""

    status = ExitStatus.FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def told(self) -> str:
        """The message and the hint on one line."""
        return f"{self.message} {self.hint}".rstrip()

    def forget_options(self, *options: str) -> None:
        """Leave sentences out of the advice that name these options, for a command that lacks them."""
        sentences = self.hint.removesuffix(".").split(". ")
        left = [one for one in sentences if "condense " in one or not any(option in one for option in options)]
        if len(left) < len(sentences):
            self.hint = ". ".join(left) + "." * bool(left)


class UsageError(CondenseError):
    status = ExitStatus.USAGE


class ConfigurationError(UsageError):
    """A configuration is rejected. The message starts with file, line and column if known.

    `others` lists further errors in the same configuration.
    """

    others: tuple[ConfigurationError, ...] = ()


def all_together(found: Iterable[ConfigurationError]) -> ConfigurationError:
    """Attach all further errors to the first and return it."""
    first, *others = found
    first.others = tuple(others)
    return first


class TranscriptError(CondenseError):
    status = ExitStatus.INPUT


class UnreadableError(TranscriptError):
    pass


class NotJsonError(TranscriptError):
    pass


class UnknownFormatError(TranscriptError):
    pass


class OutputError(CondenseError):
    pass


class CallFailedError(CondenseError):
    status = ExitStatus.CALLS_FAILED


class StoppedError(CallFailedError):
    """No further call is made: the budget is spent or the model is unreachable."""


class GoneError(CondenseError):
    status = ExitStatus.GONE


class BrokenOutputError(CondenseError):
    pass
