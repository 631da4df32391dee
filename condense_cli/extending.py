"""Names for packages that add a provider, selector, format or summarizer.

See docs/api.md; docs/examples/condense-example adds one of each.
"""

from __future__ import annotations

from .config.checks import Problem
from .config.models import (
    Configuration,
    ContentOperation,
    ContentTypeOperations,
    Globs,
    IndividualConfig,
    OperationParams,
    PassConfig,
    Predicates,
    Prelude,
    Selection,
    TruncateParams,
)
from .core.transcript import Block, Message, Place, Transcript
from .core.values import BlockKind, Family, Role
from .formats.engine.base import Evidence, Format, not_a_message
from .formats.engine.container import Document
from .passes.condensation import Condensation
from .passes.context import Context
from .passes.selection import Predicate, Selector
from .passes.summaries import BatchTask, Outcome, Refused, Summarizer, Task, TextTask, Written
from .providers.base import Capabilities, Provider, Run
from .tokens.counting import Counter

__all__ = [
    "BatchTask",
    "Block",
    "BlockKind",
    "Capabilities",
    "Condensation",
    "Configuration",
    "ContentOperation",
    "ContentTypeOperations",
    "Context",
    "Counter",
    "Document",
    "Evidence",
    "Family",
    "Format",
    "Globs",
    "IndividualConfig",
    "Message",
    "OperationParams",
    "Outcome",
    "PassConfig",
    "Place",
    "Predicate",
    "Predicates",
    "Prelude",
    "Problem",
    "Provider",
    "Refused",
    "Role",
    "Run",
    "Selection",
    "Selector",
    "Summarizer",
    "Task",
    "TextTask",
    "Transcript",
    "TruncateParams",
    "Written",
    "not_a_message",
]
