"""A scripted session of Codex CLI, and its rollout as that client (0.169) writes one."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from scenario import Call, Prompt, Step, do
from tools import PROJECT, Json, Outcome

MODEL = "gpt-5.1-codex"
INSTRUCTIONS = "You are a coding agent. Work in the folder of the project, run its tests, and say briefly what you did."
CONTEXT = f"<environment_context>\n  <cwd>{PROJECT}</cwd>\n  <shell>bash</shell>\n</environment_context>"
AGENTS = f"# AGENTS.md instructions for {PROJECT}\n\n<INSTRUCTIONS>\nRun the tests after each change.\n</INSTRUCTIONS>"


def run(command: str) -> Call:
    return Call("exec_command", {"cmd": command, "workdir": PROJECT})


def patch(path: str, old: str, new: str) -> Call:
    lines = [f"*** Update File: {path}", "@@", *(f"-{line}" for line in old.split("\n"))]
    lines += [f"+{line}" for line in new.split("\n")]
    return Call("apply_patch", {"input": "\n".join(["*** Begin Patch", *lines, "*** End Patch"])})


PRICING = "inventory/pricing.py"
TESTS = "python -m pytest -q tests/test_pricing.py"
STEPS: list[Step] = [
    Prompt("The pricing tests fail. Please fix inventory/pricing.py."),
    do("I run the tests first.", run(TESTS), thinking="**Finding out what fails**"),
    do("", run(f"cat {PRICING}"), run("sed -n '1,26p' tests/test_pricing.py"), thinking="**Reading the code**"),
    do("", patch(PRICING, "        if quantity > threshold:", "        if quantity >= threshold:")),
    do("", run(TESTS)),
    do("", run(f"grep -n ROUND_HALF_EVEN {PRICING}"), thinking="**Half a cent is rounded to even**"),
    do(
        "",
        patch(PRICING, "from decimal import ROUND_HALF_EVEN, Decimal", "from decimal import ROUND_HALF_UP, Decimal"),
    ),
    do("", run(f"sed -i 's/rounding=ROUND_HALF_EVEN/rounding=ROUND_HALF_UP/' {PRICING}")),
    do("", run(f"cat {PRICING}")),
    do("", run(TESTS)),
    do("The pricing tests pass: discounts start at their threshold, and half a cent is rounded up."),
    Prompt("Thanks. Which tests still fail?"),
    do("", run("python -m pytest -q 2>&1 | tail -12")),
    do("Those of the report, the models and the storage. I have not touched them."),
]


class Rollout:
    """The records of one rollout, as they are appended."""

    def __init__(self, start: datetime, namespace: uuid.UUID, secret: Callable[[str, int], str]) -> None:
        self.records: list[Json] = []
        self.clock = start
        self.namespace = namespace
        self.secret = secret
        self.id = self._uuid("session")
        self.sent = len(INSTRUCTIONS) + 16_000  # characters of the instructions and the tool definitions
        self._begin()

    def _uuid(self, name: str) -> str:
        return str(uuid.uuid5(self.namespace, f"rollout/{name}"))

    def add(self, kind: str, **payload: Any) -> None:
        self.clock += timedelta(milliseconds=35)
        time = self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.records.append({"timestamp": time, "ordinal": len(self.records), "type": kind, "payload": payload})

    def item(self, kind: str, prefix: str, **value: Any) -> None:
        self.sent += len(json.dumps(value))
        self.add("response_item", type=kind, id=f"{prefix}_{self._uuid(str(len(self.records)))}", **value)

    def message(self, role: str, *texts: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.item("message", "msg", role=role, content=[{"type": kind, "text": text} for text in texts])

    def event(self, kind: str, **value: Any) -> None:
        self.add("event_msg", type=kind, **value)

    def _begin(self) -> None:
        self.add(
            "session_meta",
            session_id=self.id,
            id=self.id,
            timestamp=self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            cwd=PROJECT,
            originator="codex_exec",
            cli_version="0.169.0",
            source="exec",
            model_provider="openai",
            base_instructions={"text": INSTRUCTIONS},
            history_mode="paginated",
        )
        self.message("developer", "<permissions instructions>\nApproval policy is never.\n</permissions instructions>")
        self.message("user", AGENTS, CONTEXT)

    def prompt(self, prompt: Prompt) -> None:
        self.add("turn_context", cwd=PROJECT, model=MODEL, approval_policy="never", summary="auto")
        self.message("user", prompt.text)
        self.event("user_message", message=prompt.text)

    def turn(self, text: str, thinking: str, calls: tuple[Call, ...], outcomes: list[Outcome]) -> None:
        """What one answer adds, and then what its calls gave."""
        read = self.sent
        number = len(self.records)
        if thinking:
            secret = "gAAAAAB" + "".join(self.secret(f"rollout/{number}/{piece}", 80) for piece in range(5))
            summary = [{"type": "summary_text", "text": thinking}]
            self.item("reasoning", "rs", summary=summary, content=None, encrypted_content=secret)
        if text:
            self.message("assistant", text)
            self.event("agent_message", message=text)
        ids = [f"call_{self.secret(f'rollout/{number}/{index}', 24)}" for index in range(len(calls))]
        for call, call_id in zip(calls, ids, strict=True):
            if call.name == "apply_patch":
                self.item("custom_tool_call", "ctc", call_id=call_id, name=call.name, input=call.args["input"])
            else:
                arguments = json.dumps(call.args, separators=(",", ":"))
                self.item("function_call", "fc", name=call.name, arguments=arguments, call_id=call_id)
        for call, call_id, outcome in zip(calls, ids, outcomes, strict=True):
            self._output(call, call_id, outcome)
        usage = {"input_tokens": read // 4, "cached_input_tokens": 0, "output_tokens": (self.sent - read) // 4}
        self.event("token_count", info={"total_token_usage": usage, "last_token_usage": usage})

    def _output(self, call: Call, call_id: str, outcome: Outcome) -> None:
        assert isinstance(outcome.detail, dict)
        code = outcome.detail["exit_code"]
        if call.name == "apply_patch":
            output = f"Exit code: {code}\nWall time: 0 seconds\nOutput:\n{outcome.text}"
            self.item("custom_tool_call_output", "ctco", call_id=call_id, output=output)
            return
        command = ["/bin/bash", "-lc", call.args["cmd"]]
        shown = {"command": command, "aggregated_output": outcome.text, "exit_code": code}
        self.event("item_completed", item={"type": "CommandExecution", "id": call_id, **shown})
        head = [f"Chunk ID: {self.secret(call_id, 6).lower()}", "Wall time: 0.0001 seconds"]
        head += [f"Process exited with code {code}", f"Original token count: {len(outcome.text) // 4}", "Output:"]
        output = "\n".join([*head, outcome.text])
        self.item("function_call_output", "fco", call_id=call_id, output=output)
