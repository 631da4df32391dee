"""JSON whose strings are spelled in many ways: the same values, each character as itself or as one of its escapes."""

import re
from random import Random

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?')
_UNIT = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)


def respelled(data: bytes, random: Random, share: float) -> bytes:
    """The JSON with up to three characters of about this share of its values spelled in another way."""

    def other(match: re.Match[str]) -> str:
        units = _UNIT.findall(match[1])
        if match[2] or not units or random.random() >= share:
            return match[0]
        for _ in range(3):
            at = random.randrange(len(units))
            units[at] = _other(units[at], random)
        return f'"{"".join(units)}"'

    return _STRING.sub(other, data.decode("utf-8")).encode()


def _other(unit: str, random: Random) -> str:
    """Another spelling of a character; of half of a pair, or one beyond the plane, the same."""
    if unit == "/":
        return "\\/"
    if unit.startswith("\\u"):
        char = chr(int(unit[2:], 16))
        is_itself = char.isprintable() and char not in '"\\' and not "\ud800" <= char <= "\udfff"
        return char if is_itself and random.random() < 0.5 else unit.upper().replace("\\U", "\\u")
    char = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\", "\\/": "/", "\\r": "\r"}.get(unit, unit)
    if len(char) > 1 or ord(char) > 0xFFFF:
        return unit
    return f"\\u{ord(char):04{random.choice('xX')}}"
