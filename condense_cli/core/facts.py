"""The facts of a text: what later work names again and nobody could make up.

Identifiers, paths and file names, numbers of two digits and more, URLs, options of commands, and names, which are
capitalised words in the middle of a sentence. Plain words are no facts.
"""

from __future__ import annotations

import re
from typing import Final

from .lazy_pattern import lazy_pattern

# What is no beginning goes first, plain words above all, and nothing is tried again that cannot match shorter (`++`).
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
    """Every fact of a text, in order, as often as it stands there."""
    return [fact.rstrip(_TRAILING) for fact in _FACT.findall(text)]
