"""Results of calls in which the user said something, as clients word them, and such in which nobody did."""

import json

from build import LONG

RULE = "Use pnpm, never npm.\nAnd ask before you install anything."
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)
ASKED = "Which one?"
CLARIFIES = (
    f"{REJECTED}To tell you how to proceed, the user said:\nThe user wants to clarify these questions.\n"
    "    This means they may have additional information, context or questions for you.\n"
    "    Start by asking them what they would like to clarify.\n\n    Questions asked:\n"
)
"""Claude Code where the user closes its questions: none of it is what the user said."""
TELLING = {
    "said": (f"{REJECTED}To tell you how to proceed, the user said:\n{RULE}", RULE),
    "reason": (f"{REJECTED}The user provided the following reason for the rejection:  {RULE}", RULE),
    "denied": (
        f"The user rejected permission to use this specific tool call with the following feedback: {RULE}",
        RULE,
    ),
    "said to a subagent": (
        "Permission for this tool use was denied. The tool use was rejected (eg. if it was a file edit, the new_string "
        f"was NOT written to the file). The user said:\n{RULE}",
        RULE,
    ),
    "rejected": (f"The tool call is rejected by the user. User feedback: {RULE}", RULE),
    "plan, edited": (f"User has approved your plan. Begin.\n\n## Approved Plan (edited by user):\n{RULE}", RULE),
    "plan, with a word": (f"User has approved your plan. Begin.\n\nUser feedback on this plan: {RULE}", RULE),
    "plan": (f"Plan rejected. User feedback: {RULE}", RULE),
    "clarified": (
        f'{CLARIFIES}- "{ASKED}"\n  Answer: {RULE}\n- "Why?"\n  (No answer provided)\n- "And where?"\n  Answer: Here.',
        f"{RULE}\nHere.",
    ),
    "answered": (
        f'User has answered your questions: "{ASKED}"="pnpm, as always". You can now continue with the user\'s '
        "answers in mind.",
        f'"{ASKED}"="pnpm, as always".',
    ),
    "answered, since 2.1.195": (
        f'Your questions have been answered: "{ASKED}"="pnpm, as always". You can now continue with these answers in '
        "mind.",
        f'"{ASKED}"="pnpm, as always".',
    ),
    "answered in part": (
        f'The user answered: "{ASKED}"="pnpm" user notes: {RULE}',
        f'"{ASKED}"="pnpm" user notes: {RULE}',
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
    "message": (
        "The user has provided feedback on the results. Consider their input to continue the task, and then attempt "
        f"completion again.\n<user_message>\n{RULE}\n</user_message>",
        RULE,
    ),
    "feedback, as JSON": (
        json.dumps({"status": "denied", "message": "The user denied this operation", "feedback": RULE}),
        RULE,
    ),
    "context, as JSON": (f"{json.dumps({'status': 'approved', 'feedback': RULE})}\n{LONG}\nlast", RULE),
    "feedback on a plan, as JSON": (json.dumps({"approved": False, "feedback": RULE}), RULE),
}
"""Results of any tool in which the client's words tell that the user said something, with what that is."""

QUESTIONS = {
    "AskUserQuestion": (f'Wholly new words of a client: "{ASKED}"="{RULE}"', ""),
    "mcp__conductor__AskUserQuestion": (f"{ASKED}\n{RULE}", ""),
    "ask_user_question": (f"User has provided the following answers:\n\n**{ASKED}**: {RULE}", ""),
    "ask_user": (f"User responded: {RULE}", ""),
    "AskUser": (f"1. [question] {ASKED}\n[answer] {RULE}", ""),
    "ask_followup_question": (f"<answer>\n{RULE}\n</answer>", RULE),
    "ask_question": (RULE, RULE),
    "AskQuestion": (json.dumps({"answers": [RULE]}), ""),
    "vscode_askQuestions": (json.dumps({"answers": {ASKED: {"selected": [], "freeText": RULE}}}), ""),
    "request_user_input": (json.dumps({"answers": {"q1": {"answers": [RULE]}}}), ""),
    "question": (
        f'User has answered your questions: "{ASKED}"="{RULE}". You can now continue with the user\'s answers in mind.',
        f'"{ASKED}"="{RULE}".',
    ),
    "human": (RULE, RULE),
}
"""Results of tools that ask the user, by their names; all of the text is the answer where nothing is beside it."""

ANSWERS = {name: (text, words, "Bash") for name, (text, words) in TELLING.items()} | {
    tool: (text, words or text, tool) for tool, (text, words) in QUESTIONS.items()
}
"""Results with an answer of the user: the text, what of it the user said, and the tool."""
NO_ANSWERS = (  # Of no tool that asks.
    "A test failed where the user said: no",
    f"{REJECTED}STOP what you are doing and wait for the user to tell you how to proceed.",
    f'{CLARIFIES}- "{ASKED}"\n  (No answer provided)',
    "The user doesn't want to take this action right now. STOP what you are doing.",
    f"<feedback>\n{RULE}\n</feedback>",
    f"x\nUser has answered your questions: {RULE}",
    "User has answered your questions: nothing",
    f"User has approved your plan. Begin.\n\n## Approved Plan:\n{RULE}",
    "The user rejected this: no reason",
    "Permission for this action has been denied. Reason: it deletes files. Ask the user for permission.",
    "The tool call is rejected by the user. Stop and wait for the user to tell you how to proceed.",
    json.dumps({"feedback": RULE}),
    json.dumps({"status": "open", "feedback": RULE}),
    '{"approved": false, "feedback": 1}',
    '{"approved": "feedback',
)
