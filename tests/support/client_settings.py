"""Files in which clients keep their settings, and what is in them."""

from pathlib import Path
from typing import Any


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def commands(settings: dict[str, Any]) -> list[str]:
    groups = [group for groups in settings["hooks"].values() for group in groups]
    return [each["command"] for group in groups for each in group["hooks"]]
