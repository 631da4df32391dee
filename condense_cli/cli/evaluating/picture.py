"""The picture that `condense evaluate --plot` draws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...errors import OutputError, UsageError
from ..console import say

if TYPE_CHECKING:
    from ...report.evaluation.facts import Evaluation

_PICTURES: Final = (".svg", ".png")


def check_picture(plot: Path | None) -> None:
    """Raises UsageError and OutputError before any work is done."""
    if plot is None:
        return
    if plot.suffix.lower() not in _PICTURES:
        raise UsageError(f"--plot draws .svg or .png, not {plot.name!r}.", "For example --plot curves.svg.")
    if not plot.absolute().parent.is_dir():
        raise OutputError(f"There is no folder {plot.parent} to write {plot} in.", "Nothing was measured.")
    if plot.suffix.lower() == ".png":
        try:
            import resvg_py  # noqa: F401
        except ImportError:
            raise UsageError(
                "--plot needs one more package to draw a .png.",
                "Install condense-cli[png], or use .svg, which needs nothing.",
            ) from None


def draw_picture(found: Evaluation, plot: Path) -> None:
    from ...report.evaluation.curves_svg import draw
    from ...storage.files import write_bytes

    picture = draw(found)
    if plot.suffix.lower() == ".png":
        import resvg_py

        write_bytes(plot, bytes(resvg_py.svg_to_bytes(svg_string=picture, zoom=2)))
    else:
        write_bytes(plot, picture.encode())
    say(f"Written: {plot}")
