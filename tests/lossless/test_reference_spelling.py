"""References: written and read back; anything spelled otherwise is text."""

from __future__ import annotations

import pytest

from condense_cli.core.markers import short_hash
from condense_cli.lossless.references import (
    ABOVE,
    REFERENCE_BYTES,
    THE_RESULT,
    THIS_CALL,
    Address,
    Reference,
    parse_reference,
)

HASH = "012345"
READ = "Read of src/app.py"
SPELLINGS = {
    "[see lines 3-75 of the next Read of src/app.py #012345]": Reference("lines 3-75", Address(READ), HASH),
    "[see the next Read of src/app.py #012345]": Reference("", Address(READ), HASH),
    "[see the previous Read of src/app.py #012345]": Reference("", Address(READ, is_backward=True), HASH),
    "[see line 3 of the 2nd next Bash `pytest -q` #012345]": Reference("line 3", Address("Bash `pytest -q`", 2), HASH),
    "[see the 3rd next ls #012345]": Reference("", Address("ls", 3), HASH),
    "[see the 4th previous ls #012345]": Reference("", Address("ls", 4, True), HASH),
    "[see the 10th next ls #012345]": Reference("", Address("ls", 10), HASH),
    "[see the 11th next ls #012345]": Reference("", Address("ls", 11), HASH),
    "[see the 12th next ls #012345]": Reference("", Address("ls", 12), HASH),
    "[see the 13th next ls #012345]": Reference("", Address("ls", 13), HASH),
    "[see the 19th next ls #012345]": Reference("", Address("ls", 19), HASH),
    "[see the 20th next ls #012345]": Reference("", Address("ls", 20), HASH),
    "[see the 21st next ls #012345]": Reference("", Address("ls", 21), HASH),
    "[see the 102nd next ls #012345]": Reference("", Address("ls", 102), HASH),
    "[see the 111th next ls #012345]": Reference("", Address("ls", 111), HASH),
    "[see new_string of the next Edit of a.py #012345]": Reference(
        "", Address("Edit of a.py", field="new_string"), HASH
    ),
    "[see lines 1-2 of new_string of this call #012345]": Reference(
        "lines 1-2", Address(THIS_CALL, 0, False, "new_string"), HASH
    ),
    "[see new_string of this call #012345]": Reference("", Address(THIS_CALL, 0, False, "new_string"), HASH),
    "[see the result #012345]": Reference("", Address(THE_RESULT, 0), HASH),
    "[see the first line of the next ls #012345]": Reference("the first line", Address("ls"), HASH),
    "[see the last 4 lines of the next ls #012345]": Reference("the last 4 lines", Address("ls"), HASH),
    "[see 4 lines from 7 on of the next ls #012345]": Reference("4 lines from 7 on", Address("ls"), HASH),
    "[see lines 3-9 above #012345]": Reference("lines 3-9 above", ABOVE, HASH),
    "[see line 3 above #012345]": Reference("line 3 above", ABOVE, HASH),
    "[see the next ls, numbered from 12 #012345]": Reference("", Address("ls"), HASH, "12"),
    '[see the next ls, numbered from "   1|" #012345]': Reference("", Address("ls"), HASH, '"   1|"'),
}


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_what_is_written_is_read(spelled: str) -> None:
    reference = SPELLINGS[spelled]
    assert str(reference) == spelled
    assert parse_reference(spelled) == reference
    assert '"' in spelled or REFERENCE_BYTES.fullmatch(spelled.encode())


@pytest.mark.parametrize(
    "text",
    [
        "[see the 1st next ls #012345]",
        "[see the 2th next ls #012345]",
        "[see the 11st next ls #012345]",
        "[see the 02nd next ls #012345]",
        "[see the 0th next ls #012345]",
        "[see the next ls #12345]",
        "[see the next ls #0123456]",
        "[see the next ls #01234a]",
        "[see the next ls #012345] ",
        " [see the next ls #012345]",
        "[see the next ls #012345]\n",
        "[see ls #012345]",
        "[see lines 3-9 #012345]",
        "[see lines ٣-٩ above #012345]",
        "[See the next ls #012345]",
        "[see \\new_string of this call #012345]",
        "[see \\the next ls #012345]",
        "[see the next  #012345",
        "",
    ],
)
def test_what_is_spelled_in_another_way_is_text(text: str) -> None:
    assert parse_reference(text) is None


def test_six_digits_of_what_stood_there() -> None:
    assert short_hash("") == f"{0xE3B0C442 % 1_000_000:06}"
    hashes = {short_hash(str(number)) for number in range(2_000)}
    assert all(len(hash) == 6 and hash.isdigit() for hash in hashes)
    assert any(hash.startswith("0") for hash in hashes)
    assert len(hashes) > 1_990
