"""What was chosen as the text of a configuration."""

from __future__ import annotations

from ..config.yaml_editing import ConfigurationDocument
from .choice import UserChoice
from .configurations import Configurations


def configuration_text(configurations: Configurations, choice: UserChoice) -> str:
    """The text of a configuration that does what was chosen. Raises ConfigurationError."""
    is_preset = not choice.text and choice.name in configurations.names()
    document = ConfigurationDocument(f"preset: {choice.name}\n" if is_preset else configurations.text_of(choice))
    for key, selectors in (("keep", choice.keep), ("cut", choice.cut)):
        if selectors:
            known = document.value.get(key) or []
            document = document.with_value((key,), list(dict.fromkeys([*known, *selectors])))
    if choice.target:
        document = document.without(("target_tokens",)).without(("target_reduction_percent",))
        if choice.target_tokens is not None:
            document = document.with_value(("target_tokens",), choice.target_tokens)
        elif choice.target_percent is not None:
            document = document.with_value(("target_reduction_percent",), round(100 - choice.target_percent, 6))
    configurations.of_text(document.text, "configuration")
    return document.text
