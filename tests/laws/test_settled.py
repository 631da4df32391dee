"""Cuts and references together: one run comes to where a second one changes nothing."""

from __future__ import annotations

from typing import Any

import laws
import pytest
from build import anthropic, assistant, call, configuration, cut_to, one_pass, result, user

from condense_cli.passes.condensation import Condensation

pytestmark = pytest.mark.usefixtures("anywhere")

LINES = [f"    value_{number} = compute_alpha({number}, {number * number})" for number in range(12)]
OLD, NEW = "\n".join(LINES), "\n".join(LINES[6:])
ALL: dict[str, Any] = {"type": "preserve_recent", "keep_recent_count": 0}


def condensed(*messages: dict[str, Any], **passes: Any) -> Condensation:
    return laws.check_all(
        anthropic(user("Go on."), *messages, assistant("Done.")),
        configuration(one_pass(selection=ALL, **passes), lossless_prelude={"enabled": True}),
    )


# Lines that the original of a cut result could have named, had that been worth it, are free to be a reference.
def test_a_reference_that_was_weighed_and_left_holds_no_lines() -> None:
    edit = call("edit", "Edit", file_path="src/app.py", old_string="", new_string=NEW + "\n")
    done = condensed(
        assistant([call("read", file_path="src/app.py"), edit]),
        user([result("read", OLD), result("edit", NEW)]),
        *[assistant([call("again", file_path="src/app.py")]), user([result("again", OLD)])],
        individual_config=cut_to(7),
    )
    assert done.transcript.messages[2].blocks[1].text.startswith("[see lines 1-6 of new_string of this call ")
