"""Modules that are imported later than a library asks for them."""

import sys

import pytest

from condense_cli.core.postponed import absent, postponed

NAMES = ("wave", "colorsys")
"""Modules that nothing here imports."""


@pytest.fixture(autouse=True)
def _not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_postponed_module_is_imported_when_something_of_it_is_used() -> None:
    with postponed(NAMES):
        import colorsys
        import wave
    assert not sys.modules.keys() & set(NAMES)
    assert colorsys.rgb_to_hsv(1, 0, 0) == (0, 1, 1)
    assert "colorsys" in sys.modules
    assert "wave" not in sys.modules
    assert issubclass(wave.Error, Exception)
    assert wave.Error is sys.modules["wave"].Error
    with pytest.raises(AttributeError, match="nothing"):
        getattr(wave, "nothing")  # noqa: B009


def test_what_asks_for_something_of_a_postponed_module_at_once_gets_it() -> None:
    with postponed(NAMES):
        from colorsys import rgb_to_hsv

        assert rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert sys.modules["colorsys"].rgb_to_hsv is rgb_to_hsv


def test_a_module_that_is_there_already_is_left_alone() -> None:
    import colorsys

    with postponed(NAMES), absent(NAMES):
        assert sys.modules["colorsys"] is colorsys
    assert sys.modules["colorsys"] is colorsys


def test_an_absent_module_cannot_be_imported_meanwhile() -> None:
    with absent(NAMES), pytest.raises(ImportError):
        import wave
    import wave

    assert wave is sys.modules["wave"]
