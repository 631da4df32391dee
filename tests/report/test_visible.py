"""What could steer a terminal is shown as a sign, and all else as it is."""

from __future__ import annotations

import pytest

from condense_cli.core.wording import visible


@pytest.mark.parametrize(
    "code", [0, 8, 0x0B, 0x1B, 0x7F, 0x80, 0x9F, 0x200E, 0x202A, 0x202E, 0x2066, 0x2069, 0xD800, 0xDFFF]
)
def test_what_steers_is_a_sign(code: int) -> None:
    shown = visible(f"a{chr(code)}b")
    assert len(shown) == 3
    assert chr(code) not in shown


@pytest.mark.parametrize("code", [0x09, 0x0A, 0x20, 0x7E, 0xA0, 0x200D, 0x202F, 0x206A, 0xE000, 0x1F600])
def test_what_does_not_steer_stays(code: int) -> None:
    assert visible(f"a{chr(code)}b") == f"a{chr(code)}b"
