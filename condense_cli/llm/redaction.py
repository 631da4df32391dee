"""Masking secrets before anything is sent. What is masked stays masked in the answers.

The detector is Kingfisher, which knows the forms of several hundred kinds of keys and tokens, private keys, and
passwords in addresses and commands. It runs in this process and asks nobody. A password has no form, so what is
assigned to a name such as `password`, `secret`, `token` or `api_key` is masked as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ..core.lazy_pattern import lazy_pattern
from ..errors import CondenseError
from .client import ModelRequest

_ASSIGNED: Final = lazy_pattern(
    r"""(?:pass(?:word|wd|phrase)|secret(?:[_-]?(?:access[_-]?)?key)?|token|api[_-]?key|private[_-]?key|bearer)
    (?:\\?["'])?[ \t]*(?:[:=][ \t]*|(?<=bearer)[ \t]+)(?:\\?["'])?
    (?P<value>[^\s"'\\,;(){}\[\]<>$]{6,})""",
    re.VERBOSE | re.IGNORECASE,
)
_SHORTEST: Final = 4
"""Characters. A shorter secret is masked nowhere, for it would be masked in every word that holds it."""

_PLACEHOLDER: Final = "[secret {number}]"


class Redactor:
    """Masks texts of one run; the same secret becomes the same placeholder everywhere."""

    def __init__(self, rules_folder: Path | None = None) -> None:
        """Load the detector; with a folder for its compiled rules that takes a tenth of the time the next time.

        Raises CondenseError if it is not installed.
        """
        try:
            from kingfisher_sdk import Rules, Scanner
        except ImportError:
            raise CondenseError(
                "--redact needs the Python package kingfisher-secret-scanner, which is not installed.",
                "pip install 'condense-cli[redact]'",
            ) from None
        self._scanner: Any = Scanner(
            Rules(confidence="low", cache=rules_folder is not None, cache_dir=rules_folder), base64=False
        )
        self._numbers: dict[str, int] = {}

    @property
    def count(self) -> int:
        """Different secrets that were masked so far."""
        return len(self._numbers)

    def request(self, request: ModelRequest) -> ModelRequest:
        return replace(request, system=self.text(request.system), prompt=self.text(request.prompt))

    def hides(self, text: str) -> bool:
        """Whether a secret that was masked so far is in the text, or the text in a secret."""
        return any(secret in text or text in secret for secret in self._numbers)

    def text(self, text: str) -> str:
        found = sorted({*self._detected(text), *_assigned(text)}, key=lambda secret: (text.find(secret), -len(secret)))
        for secret in found:
            self._numbers.setdefault(secret, len(self._numbers) + 1)
        return self.masked(text)

    def masked(self, text: str) -> str:
        """The text without the secrets that are known so far."""
        # The longest first: a key may stand inside the address that holds it. All that are known, because a
        # secret that gives itself away in one place is one everywhere.
        for secret in sorted(self._numbers, key=len, reverse=True):
            text = text.replace(secret, _PLACEHOLDER.format(number=self._numbers[secret]))
        return text

    def _detected(self, text: str) -> Iterator[str]:
        data = text.encode("utf-8", "replace")
        for finding in self._scanner.scan(data):
            secret = str(finding.secret)
            if len(secret) >= _SHORTEST and secret in text:
                yield secret


def _assigned(text: str) -> Iterator[str]:
    for match in _ASSIGNED.finditer(text):
        value = match["value"]
        # Names, types and calls are assigned to passwords as well; what people and machines make up has digits in it.
        if any(char.isdigit() for char in value):
            yield value
