"""Results of calls in which the user said something, as clients word them, and such in which nobody did."""

from __future__ import annotations

from build import LONG

RULE = "Use pnpm, never npm.\nAnd ask before you install anything."
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)
ANSWERS = {
    "said": (f"{REJECTED}To tell you how to proceed, the user said:\n{RULE}", RULE),
    "reason": (f"{REJECTED}The user provided the following reason for the rejection:  {RULE}", RULE),
    "denied": (
        f"The user rejected permission to use this specific tool call with the following feedback: {RULE}",
        RULE,
    ),
    "answered": (
        'User has answered your questions: "Which one?"="pnpm, as always". You can now continue with the user\'s '
        "answers in mind.",
        '"Which one?"="pnpm, as always".',
    ),
    "feedback": (
        f"The user denied this operation and provided the following feedback:\n<feedback>\n{RULE}\n</feedback>",
        RULE,
    ),
    "context": (
        "The user approved this operation and provided the following context:\n"
        f"<feedback>\n{RULE}\n</feedback>\n{LONG}\nlast",
        RULE,
    ),
}
NO_ANSWERS = (
    f"{REJECTED}STOP what you are doing and wait for the user to tell you how to proceed.",
    "The user doesn't want to take this action right now. STOP what you are doing.",
    f"<feedback>\n{RULE}\n</feedback>",
    f"x\nUser has answered your questions: {RULE}",
    "User has answered your questions: nothing",
)
