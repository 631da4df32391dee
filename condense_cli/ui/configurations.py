"""The configurations that a person may choose: presets by their names, and texts that the editor makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..config.loading import Loaded, parse_with_positions, read_text
from ..config.models import Configuration
from ..config.preset_folders import DEFAULT_PRESET
from ..config.presets import Presets
from .choice import UserChoice


class Configurations:
    """Presets of some folders, and what their files say; the names that a configuration may mention."""

    def __init__(self, presets: Presets, providers: Sequence[str] = (), profiles: Sequence[str] = ()) -> None:
        self._presets = presets
        self._providers, self._profiles = tuple(providers), tuple(profiles)

    def known(self, key: str) -> tuple[str, ...]:
        """The names that the value of a key may be; none where it is any text."""
        match key:
            case "preset":
                return tuple(self.names())
            case "provider":
                return self._providers
            case "profile" | "api_profile":
                return self._profiles
            case _:
                return ()

    def start(self, preset: str | None, usual: str = DEFAULT_PRESET) -> UserChoice:
        """The choice to begin with: a preset by its name, or the configuration in a file. Raises ConfigurationError."""
        name = preset or usual
        if name in self.names():
            return UserChoice(name)
        path = self._presets.find(name)
        choice = UserChoice(str(path), read_text(path))
        self.of(choice)
        return choice

    def names(self) -> list[str]:
        return self._presets.names()

    def of(self, choice: UserChoice) -> Configuration:
        """The configuration that a choice names or spells out. Raises ConfigurationError."""
        return self.of_text(choice.text, choice.name) if choice.text else self._presets.load(choice.name)

    def of_text(self, text: str, name: str) -> Configuration:
        """The configuration in a text; the path of a preset that it names counts from the folder we are in.

        Raises ConfigurationError.
        """
        return self.loaded(text, name).configuration

    def loaded(self, text: str, name: str) -> Loaded:
        """The same with where its values are from. Raises ConfigurationError."""
        return parse_with_positions(text, name, Path(), self._presets)

    def text_of(self, choice: UserChoice) -> str:
        """The text of a choice's configuration, to edit. Raises ConfigurationError."""
        return choice.text or read_text(self._presets.find(choice.name))

    def description_of(self, name: str) -> str:
        """What a preset says of itself. Raises ConfigurationError."""
        return self._presets.load(name).description
