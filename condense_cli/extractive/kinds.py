"""Kinds of lines: errors, definitions, decisions."""

from __future__ import annotations

import re
from typing import Final

ERROR: Final = 2.3
_PRINTED: Final = 0.4
"""Factors of a fact's weight: the assistant wrote it; each time twice as often; the user wrote it. Of those that the
assistant never wrote: an error names it; nothing but the output of commands shows it."""

_AGE: Final = 0.5
_CROWDED: Final = 0.5
"""The weight falls with these powers of the fact's age in thousands of tokens, and of the facts beside it on its line:
lists and dumps name much that nobody needs."""

_LINE: Final = 0.5
_EDITED: Final = 2.0
"""What a line that an edit may have to match is worth of a fact that the assistant never wrote, and how many times
that where its file was edited before."""

ERROR: Final = re.compile(
    r"(?i)\b(?:error|exception|fail(?:ed|ure|s)?|fatal|panic|traceback|assert(?:ion)?|denied|not found|cannot)\b|^E  "
)
DEFINITION: Final = re.compile(
    r"\s*(?:export |default |async |public |private |protected |static |pub |abstract )*"
    r"(?:def|class|function|interface|type|struct|enum|trait|impl|fn|func|module)\s+\w"
)
DECISION: Final = re.compile(
    r"(?i)\b(?:decid|instead|because|root cause|the (?:problem|issue|bug|reason|fix)|must|should|never|always"
    r"|need to|turns out|found|fixed|important|note that|remember|todo|next step|conclusion|summary)"
)
