"""Everything that a package needs to bring a provider, a selector, a format or a summarizer of its own.

docs/providers.md says how; docs/examples/condense-example is a package that brings one of each.
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
from .core.tokens import Counter
from .core.transcript import Block, BlockKind, Family, Message, Place, Role, Transcript
from .formats.engine.base import Evidence, Format, not_a_message
from .formats.engine.container import Document
from .passes.condensation import Condensation
from .passes.context import Context
from .passes.selection import Predicate, Selector
from .passes.summaries import BatchTask, Outcome, Refused, Summarizer, Task, TextTask, Written
from .providers.base import Capabilities, Provider
from .providers.run import Run

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
