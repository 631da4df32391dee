"""Find facts in text: strings that later work repeats and nobody could guess.

Facts are identifiers, paths, file names, numbers of two or more digits, URLs, command options, and capitalised words in
mid-sentence. Plain words are not facts.
"""

from __future__ import annotations

import re
from typing import Final

from .lazy_pattern import lazy_pattern

# Positions where no fact begins, mostly plain words, are rejected first. Possessive quantifiers avoid useless retries.
_FACT: Final = lazy_pattern(
    r"""
    (?=[A-Za-z0-9_~.@/\\-])(?<![A-Za-z0-9_])(?![a-z]{1,40}+(?![A-Za-z0-9_.@/\\:(-]))
    (?:
        https?://[^\s"'`<>()\[\]{}|\\]{1,300}
      | (?<![<.@/\\-])[~.@]?(?:[A-Za-z0-9_.@-]{0,80}+[/\\]){1,30}[A-Za-z0-9_.@-]{2,80}    # paths
      | --[a-z][a-z0-9-]{2,40}
      | (?=[A-Za-z0-9_])(?:
            [A-Za-z0-9_][A-Za-z0-9_-]{1,80}+\.[a-z]{1,4}+[0-9]?+(?![A-Za-z0-9_])   # file names, short attributes
          | (?=\d)(?:
                \d{1,15}+(?:[.,:]\d{1,15}){1,5}
              | \d{2,40}+(?![A-Za-z0-9_])
              | \d{1,40}+[a-f][0-9a-f]{5,40}                                       # hashes
            )
          | _{0,2}+[A-Za-z][A-Za-z0-9]{0,60}+_[A-Za-z0-9_]{0,80}                   # snake_case
          | [a-z]{1,40}+[A-Z][A-Za-z0-9]{0,60}                                    # camelCase
          | [A-Z][a-z0-9]{1,40}+[A-Z][A-Za-z0-9]{0,60}                            # PascalCase
          | [A-Z][A-Z0-9]{2,40}(?![a-z])
          | [A-Za-z]{1,40}+\d[A-Za-z0-9]{0,60}                                    # names with digits
          | [a-z]{4,40}+(?=\()                                                    # calls
          | (?<=[a-z,]\ )[A-Z][a-z]{2,40}
        )
    )
    """,
    re.VERBOSE | re.ASCII,
)
_TRAILING: Final = ".,:;-"


def facts_of(text: str) -> list[str]:
    """List every fact in order, repeats included."""
    return [fact.rstrip(_TRAILING) for fact in _FACT.findall(text)]
