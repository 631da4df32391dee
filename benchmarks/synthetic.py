"""Write synthetic transcripts of any size, for measuring speed and memory.

    python benchmarks/synthetic.py big.jsonl --megabytes 5 --format claude-code

A transcript is made up but shaped like a recorded one: requests, file reads with line numbers, searches, commands with
output, edits, new files, parallel calls, repeated reads, errors, thinking, several languages. New files are opened as
the session goes on, so twice the size has twice as much text that occurs only once. The same arguments always give the
same bytes.
"""

from __future__ import annotations

import argparse
import base64
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, get_args

Format = Literal["claude-code", "anthropic"]
Json = dict[str, Any]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
MODEL: Final = "claude-sonnet-4-5-20250929"
ROOT: Final = "/srv/shop"
START: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)

OPEN_FILES: Final = 24
"""Number of newest files that the agent returns to."""

_WORDS: Final = """
account action address amount answer archive array audit badge balance basket batch binding block branch bridge bucket
budget buffer bundle cache calendar campaign carrier catalog channel charge checkout client cluster column command
commit config contact context cookie counter country coupon courier currency cursor customer database deadline default
delivery device digest discount document domain draft duration element email encoder engine entity entry envelope event
export factory feature field filter folder format frame gateway grant group handler header history host image import
index input insert invoice item job journal key label language layer layout ledger lesson letter level limit line link
listener locale lock logger loop margin market matrix member menu merge message meter method metric mirror model module
monitor network node note notice number object offer offset option order origin output owner package page panel parcel
parent parser partner password patch path payment payload period permit phone pixel plan plugin point policy port price
printer process product profile project promise prompt provider proxy quantity query queue quota range rate reader
record refund region registry release render report request reserve resource response result retry return review role
route row rule sample schedule schema scope score screen search section segment sender sequence server session setting
shape shard shelf shipment signal slice slot snapshot socket source stage state status step stock storage stream string
style subject supplier switch symbol table target task tax template tenant text theme thread ticket timer token topic
total trace track transfer tree trigger tunnel unit update upload usage user value variant vector vendor version view
voucher wallet warehouse warning webhook weight widget window worker workflow wrapper zone
"""
WORDS: Final = _WORDS.split()

PACKAGES: Final = ("billing", "catalog", "checkout", "delivery", "identity", "pricing", "search", "storage", "web")
TYPES: Final = ("int", "str", "float", "bytes", "Decimal", "list[str]", "dict[str, int]", "datetime | None", "bool")
ERRORS: Final = ("ValueError", "KeyError", "TimeoutError", "ConnectionResetError", "AssertionError", "LookupError")

STATEMENTS: Final = (
    "{a} = {b}.get({s!r}, {n})",
    "{a} = self._{b}[{c!r}]",
    "{a}_{b} = [{c}.{a} for {c} in {b}s if {c}.{d} >= {n}]",
    "if not {a}.{b}:",
    '    raise {e}(f"{A} {{{a}!r}} has no {b}: {{{c}.{d}}}")',
    "if {a}.{b} > {n} and {c} is not None:",
    "    return {a}.{d}({b}, {c}={n})",
    "for {a}, {b} in sorted({c}.items(), key=lambda pair: pair[{m}]):",
    "    self.{d}.append(({a}, {b}.{c}))",
    "with self._lock:",
    "    {a} += {b}.{c} * {f}",
    'logger.info("{a} %s: {b} in %.3f s", {c}.{d}_id, time.monotonic() - started)',
    "{a} = await self.{b}_{c}({d}, timeout={f})",
    'assert {a}_{b} == {n}, f"expected {n}, got {{{a}_{b}}}"',
    "return {a}_{b}({c}, {d}={s!r})",
    "{a}: {t} = {b}.{c}_{d}()",
    "# {p}",
    "# {p}; see {a}_{b}",
    "",
    "{A}{B}.objects.filter({c}__{d}__lte={n}).update({a}=F({b!r}) + {m})",
    "yield {a}, {b}[{m}:{n}]",
    "const {{ {a}, {b}: {c}{D} }} = await fetch{A}(`/api/{b}/${{{d}Id}}?limit={n}`);",
    "export type {A}{B} = {{ {c}: string; {d}?: number; {a}{B}s: Array<{C}> }};",
    '  <{A}{B} key={{{c}.id}} on{C}={{() => set{D}({n})}} className="{a}-{b}" />',
    "SELECT {a}.id, {a}.{b}_{c}, COUNT(*) AS {d}_count FROM {a}s {a} WHERE {a}.{c} > {n} GROUP BY 1, 2;",
)

SENTENCES: Final = (
    "the {a} keeps its {b} until the {c} is closed",
    "every {a} of the {b} has to be checked before the {c} starts",
    "without a {a} the {b} falls back to {n} {c}s",
    "we only look at the {a} once the {b} {c} has been written",
    "the old {a} counted the {b} twice when {c} was empty",
    "{b} and {c} share one {a}, so the order of the two matters",
    "a {a} older than {n} days is moved to the {b} {c}",
    "the {c} is rounded after the {b} was applied, not before the {a}",
)

FOREIGN: Final = (
    "Größe und Währung der {a} müssen übereinstimmen → {b}",
    "le délai de la {a} dépasse {n} ms, à vérifier après « {b} »",
    "{a} の {b} を {n} 件まで保存する（再試行あり）",
    "проверить {a} перед отправкой в {b}, не позже чем через {n} секунд",
    "✅ {a} done — {b} is next … 🚚 ×{n}",
    "la configuración de {a} no coincidía con {b}; ¿por qué {n}?",
)

REQUESTS: Final = (
    "The {a} in the {b} is wrong since yesterday: {s}. Please find out why and fix it.",
    "Can you add a {a} to the {b}? {S}. It should have tests.",
    "{S}. Rename the {a} accordingly and keep the {b} as it is.",
    "Look at the last failing run of the {a} tests, I think {s}.",
    "Please make the {a} faster; {s}, and with {n} entries it takes {m} seconds.",
)

REPLIES: Final = (
    "I'll look at the {a} first, because {s}.",
    "That explains it: {s}. The {b} has to change too.",
    "The tests of the {a} fail for another reason: {s}.",
    "{S}, so I change the {a} and leave the {b} alone.",
    "Let me check where the {a} is used before I touch the {b}.",
)

REMINDER: Final = """

<system-reminder>
The task list has not been used recently. Ignore this if it does not fit what you are doing.
</system-reminder>"""

LOG_LINES: Final = (
    "{time} INFO  {a}.{b}: request_id={hex} method=GET path=/api/{a}/{n} status=200 duration_ms={f}",
    "{time} DEBUG {a}.{c}: {b} {hex} took {f} ms, {n} rows",
    "{time} WARN  {b}.{c}: retry {m}/5 for {a} {hex}: {e}: {s}",
    "{time} ERROR {a}.{b}: {e}: {c}={n} ({a}-{hex})",
    "tests/{p}/test_{a}.py::test_{b}_{c}[{n}] PASSED                                         [ {m}%]",
    "tests/{p}/test_{a}.py::test_{b}_{c}_{d} FAILED                                          [ {m}%]",
    'src/{p}/{a}_{b}.py:{n}:{m}: error: Argument {m} to "{c}_{d}" has incompatible type "{t}"  [arg-type]',
    '  File "{root}/src/{p}/{a}.py", line {n}, in {b}_{c}',
    "-rw-r--r--  1 build build {n:>8} Jan  5 09:{m:02} {a}_{b}.{c}.json",
    "{hex} {S}",
    "drwxr-xr-x  4 build build     4096 Jan  5 09:{m:02} {a}-{b}",
    "E       assert {n} == {m} + {a}.{b}",
    "  ✓ {a} › {b} › keeps the {c} ({m} ms)",
    "\x1b[33mwarning\x1b[0m {a}-{b}@{m}.{n}.0: {s}",
    "Downloading {a}_{b}-{m}.{n}-py3-none-any.whl ({f} kB) ━━━━━━━━━━━━",
)


@dataclass(frozen=True)
class Call:
    """A tool call with what came of it; `display` is what Claude Code keeps for its own screen."""

    tool: str
    arguments: Json
    result: str
    display: Json | str
    is_error: bool = False


@dataclass(frozen=True)
class Request:
    text: str


@dataclass(frozen=True)
class Reply:
    """One message of the agent and, when it has calls, their results."""

    text: str
    thinking: str = ""
    calls: tuple[Call, ...] = ()


Step = Request | Reply


class Writer:
    """Generator of words, sentences, source code and logs."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def fill(self, template: str) -> str:
        """Fill a template: a to d are words (A to D capitalised), s is a sentence (S likewise)."""
        random = self.random
        a, b, c, d = random.choices(WORDS, k=4)
        sentence = title = ""
        if "{s" in template:
            sentence = random.choice(SENTENCES).format(a=c, b=a, c=d, n=random.randint(2, 999))
        if "{S" in template:
            title = random.choice(SENTENCES).format(a=b, b=c, c=a, n=random.randint(2, 999)).capitalize()
        number = random.random()
        seconds = int(number * 43_200)
        return template.format(
            a=a,
            b=b,
            c=c,
            d=d,
            A=a.title(),
            B=b.title(),
            C=c.title(),
            D=d.title(),
            s=sentence,
            S=title,
            n=int(number * 9_000) + 10,
            m=int(number * 9_973) % 60,
            f=round(number * 90, 2),
            e=ERRORS[int(number * 7_919) % len(ERRORS)],
            t=TYPES[int(number * 6_101) % len(TYPES)],
            p=PACKAGES[int(number * 5_003) % len(PACKAGES)],
            root=ROOT,
            hex=f"{int(number * 2**48):012x}",
            time=f"2026-01-05T{9 + seconds // 3_600:02}:{seconds // 60 % 60:02}:{number * 1e6 % 60:06.3f}Z",
        )

    def sentence(self) -> str:
        template = self.random.choice(FOREIGN if self.random.random() < 0.06 else SENTENCES)
        return self.fill(template)

    def paragraph(self, sentences: int) -> str:
        return " ".join(f"{self.sentence().capitalize()}." for _ in range(sentences))

    def name(self) -> str:
        return "_".join(self.random.choices(WORDS, k=2))

    def code(self, lines: int) -> list[str]:
        """Make lines of source code: functions of a dozen statements, with comments."""
        random = self.random
        code = ["from __future__ import annotations", "", f"import {random.choice(WORDS)}", ""]
        while len(code) < lines:
            a, b, c = random.choices(WORDS, k=3)
            code.append(f"    def {a}_{b}(self, {c}: {random.choice(TYPES)}) -> {random.choice(TYPES)}:")
            code.append(f'        """{self.sentence().capitalize()}."""')
            for statement in random.choices(STATEMENTS, k=random.randint(3, 16)):
                if statement.startswith("# {p}"):
                    code.append(f"        # {self.sentence()}")
                elif statement:
                    code.append("        " + self.fill(statement))
                else:
                    code.append("")
            code.append("")
        return code[:lines]

    def log(self, lines: int) -> list[str]:
        """Make lines that commands print: three or four kinds of line in one output."""
        kinds = self.random.sample(LOG_LINES, k=self.random.randint(2, 4))
        return [self.fill(kind) for kind in self.random.choices(kinds, k=lines)]


class Project:
    """The files of a made-up project and what an agent does with them."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.writer = Writer(random)
        self.files: dict[str, list[str]] = {}

    def steps(self) -> Iterator[Step]:
        """Yield a session without end: requests, each with the agent's work on it and its answer."""
        while True:
            yield Request(self._request())
            for _ in range(self.random.randint(3, 14)):
                yield self._reply()
            yield Reply(self.writer.paragraph(self.random.randint(1, 5)))

    def _request(self) -> str:
        text = self.writer.fill(self.random.choice(REQUESTS))
        if self.random.random() < 0.2:
            text += "\n\n" + self.writer.fill(self.random.choice(FOREIGN))
        if self.random.random() < 0.1:
            text += "\n\n```\n" + "\n".join(self.writer.log(self.random.randint(3, 12))) + "\n```"
        return text

    def _reply(self) -> Reply:
        random = self.random
        calls = 1 if random.random() < 0.85 else random.randint(2, 4)
        work: list[Callable[[], Call]] = [self._read, self._command, self._edit, self._search, self._new_file]
        made = tuple(kind() for kind in random.choices(work, weights=(34, 34, 22, 7, 3), k=calls))
        text = self.writer.fill(random.choice(REPLIES)) if random.random() < 0.45 else ""
        thinking = self.writer.paragraph(random.randint(2, 7)) if random.random() < 0.15 else ""
        return Reply(text, thinking, made)

    def _file(self) -> str:
        """Pick one of the newest files or, in one of three cases, one never seen before."""
        if self.files and self.random.random() < 0.65:
            return self.random.choice(list(self.files))
        ending = self.random.choice(("py", "py", "py", "ts", "tsx", "sql"))
        package = self.random.choice(PACKAGES)
        path = f"{ROOT}/src/{package}/{self.writer.name()}_{len(self.files)}.{ending}"
        length = min(900, max(12, int(self.random.lognormvariate(4.7, 0.8))))
        self._keep(path, self.writer.code(length))
        return path

    def _keep(self, path: str, lines: list[str]) -> None:
        self.files[path] = lines
        if len(self.files) > OPEN_FILES:
            del self.files[next(iter(self.files))]

    def _read(self) -> Call:
        path = self._file()
        lines = self.files[path]
        arguments: Json = {"file_path": path}
        start, end = 0, len(lines)
        if len(lines) > 200 and self.random.random() < 0.4:
            start = self.random.randrange(0, len(lines) - 100, 50)
            end = min(len(lines), start + self.random.choice((50, 100, 200)))
            arguments |= {"offset": start + 1, "limit": end - start}
        result = _numbered(lines[start:end], start + 1)
        if self.random.random() < 0.05:
            result += REMINDER
        content = "\n".join(lines[start:end])
        shown = {
            "filePath": path,
            "content": content,
            "numLines": end - start,
            "startLine": start + 1,
            "totalLines": len(lines),
        }
        return Call("Read", arguments, result, {"type": "text", "file": shown})

    def _command(self) -> Call:
        random = self.random
        name = random.choice(WORDS)
        command = random.choice(
            (
                f"python -m pytest tests/{random.choice(PACKAGES)} -k {name} -q",
                f"git log --oneline -{random.randint(5, 60)} -- src/{random.choice(PACKAGES)}",
                f"npm run build --workspace={name} 2>&1 | tail -{random.randint(20, 90)}",
                f"ls -la src/{random.choice(PACKAGES)}",
                f'kubectl logs deploy/{name} --since={random.randint(1, 9)}h | grep -i "{random.choice(WORDS)}"',
            )
        )
        arguments = {"command": command, "description": f"Look at the {name}"}
        lines = self.writer.log(min(600, max(1, int(random.lognormvariate(3.1, 1.0)))))
        if random.random() < 0.12:
            result = f"Exit code {random.randint(1, 127)}\n" + "\n".join(lines)
            return Call("Bash", arguments, result, f"Error: {result}", is_error=True)
        output = "\n".join(lines)
        return Call("Bash", arguments, output, {"stdout": output, "stderr": "", "interrupted": False, "isImage": False})

    def _edit(self) -> Call:
        path = self._file()
        lines = self.files[path]
        size = min(len(lines), self.random.randint(1, 8))
        start = self.random.randint(0, len(lines) - size)
        old = lines[start : start + size]
        new = ["        " + self.writer.fill(line) for line in self.random.choices(STATEMENTS, k=size + 1)]
        before = "\n".join(lines)
        changed = lines[:start] + new + lines[start + size :]
        self.files[path] = changed
        first, last = max(0, start - 4), start + size + 5
        said = (
            f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:"
        )
        result = f"{said}\n{_numbered(changed[first:last], first + 1)}"
        arguments = {"file_path": path, "old_string": "\n".join(old), "new_string": "\n".join(new)}
        patch = {
            "oldStart": start + 1,
            "oldLines": size,
            "newStart": start + 1,
            "newLines": len(new),
            "lines": [*(f"-{line}" for line in old), *(f"+{line}" for line in new)],
        }
        display = {
            "filePath": path,
            "oldString": arguments["old_string"],
            "newString": arguments["new_string"],
            "originalFile": before,
            "structuredPatch": [patch],
            "userModified": False,
            "replaceAll": False,
        }
        return Call("Edit", arguments, result, display)

    def _new_file(self) -> Call:
        path = f"{ROOT}/tests/{self.random.choice(PACKAGES)}/test_{self.writer.name()}.py"
        lines = self.writer.code(self.random.randint(20, 160))
        self._keep(path, lines)
        content = "\n".join(lines)
        display: Json = {
            "type": "create",
            "filePath": path,
            "content": content,
            "structuredPatch": [],
            "originalFile": None,
        }
        return Call("Write", {"file_path": path, "content": content}, f"File created successfully at: {path}", display)

    def _search(self) -> Call:
        pattern = self.random.choice(WORDS)
        found = [
            f"{path}:{number}:{line}"
            for path, lines in self.files.items()
            for number, line in enumerate(lines, 1)
            if pattern in line
        ][:80]
        content = "\n".join(found) or "No matches found"
        display = {
            "mode": "content",
            "filenames": [],
            "content": content,
            "numLines": len(found),
            "numFiles": len({line.split(":")[0] for line in found}),
        }
        return Call("Grep", {"pattern": pattern, "path": ROOT, "output_mode": "content", "-n": True}, content, display)


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>6}→{line}" for number, line in enumerate(lines, first))


def _identifier(random: Random, prefix: str) -> str:
    return f"{prefix}01{random.getrandbits(120):030x}"


def _content(reply: Reply, ids: list[str], random: Random) -> list[Json]:
    """Return the content blocks of a reply, as the Messages API has them."""
    blocks: list[Json] = []
    if reply.thinking:
        signature = base64.b64encode(random.randbytes(180)).decode()
        blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": signature})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    for call, id in zip(reply.calls, ids, strict=True):
        blocks.append({"type": "tool_use", "id": id, "name": call.tool, "input": call.arguments})
    return blocks


def _result(call: Call, id: str) -> Json:
    result: Json = {"type": "tool_result", "tool_use_id": id, "content": call.result}
    return result | {"is_error": True} if call.is_error else result


class Anthropic:
    """Messages of the Anthropic Messages API, one on each line."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def lines(self, step: Step) -> list[Json]:
        if isinstance(step, Request):
            return [{"role": "user", "content": step.text}]
        ids = [_identifier(self.random, "toolu_") for _ in step.calls]
        lines: list[Json] = [{"role": "assistant", "content": _content(step, ids, self.random)}]
        if ids:
            results = [_result(call, id) for call, id in zip(step.calls, ids, strict=True)]
            lines.append({"role": "user", "content": results})
        return lines


@dataclass
class ClaudeCode:
    """Records of a Claude Code session: one block on each line, linked to a tree, with what the client shows."""

    random: Random
    parent: str | None = None
    seconds: int = 0
    session: str = field(init=False)

    def __post_init__(self) -> None:
        self.session = self._uuid()

    def lines(self, step: Step) -> list[Json]:
        if isinstance(step, Request):
            return [self._line("user", {"role": "user", "content": step.text})]
        ids = [_identifier(self.random, "toolu_") for _ in step.calls]
        reply_id, request_id = _identifier(self.random, "msg_"), _identifier(self.random, "req_")
        lines: list[Json] = []
        line_of_call: dict[str, str] = {}
        blocks = _content(step, ids, self.random)
        for block in blocks:
            is_last = block is blocks[-1]
            message = {
                "model": MODEL,
                "id": reply_id,
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": ("tool_use" if ids else "end_turn") if is_last else None,
                "stop_sequence": None,
                "usage": self._usage(),
            }
            lines.append(self._line("assistant", message, requestId=request_id))
            if block["type"] == "tool_use":
                line_of_call[block["id"]] = lines[-1]["uuid"]
        for call, id in zip(step.calls, ids, strict=True):
            # The result of a parallel call hangs below its own call, so the tree branches here.
            self.parent = line_of_call[id]
            message = {"role": "user", "content": [_result(call, id)]}
            extra = {"toolUseResult": call.display, "sourceToolAssistantUUID": line_of_call[id]}
            lines.append(self._line("user", message, **extra))
        return lines

    def _line(self, type: str, message: Json, **extra: Any) -> Json:
        self.seconds += self.random.randint(1, 20)
        line: Json = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": ROOT,
            "sessionId": self.session,
            "version": "2.1.42",
            "gitBranch": "main",
            "type": type,
            "message": message,
            "uuid": self._uuid(),
            "timestamp": (START + timedelta(seconds=self.seconds)).isoformat(timespec="milliseconds")[:-6] + "Z",
            **extra,
        }
        self.parent = line["uuid"]
        return line

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def _usage(self) -> Json:
        cached = min(150_000, 18_000 + self.seconds * 20)
        return {
            "input_tokens": self.random.randint(1, 9),
            "cache_creation_input_tokens": self.random.randint(90, 4_000),
            "cache_read_input_tokens": cached,
            "output_tokens": self.random.randint(20, 900),
            "service_tier": "standard",
        }


def write_transcript(path: str | Path, megabytes: float, format: Format, *, seed: int = 1) -> int:
    """Write a transcript of about `megabytes` million bytes, and return its size in bytes.

    It begins with a request and ends with an answer. Replies larger than an eighth of the size, or than the rest of it,
    are skipped, so that a transcript of a few kilobytes has several turns too.
    """
    random = Random(seed)
    records = Anthropic(random) if format == "anthropic" else ClaudeCode(random)
    size, limit = 0, int(megabytes * 1_000_000)
    with Path(path).open("wb") as file:
        for step in Project(random).steps():
            if isinstance(step, Reply) and step.calls and _length(step, format) > min(limit // 8, limit - size):
                continue
            for line in records.lines(step):
                size += file.write(_dumped(line) + b"\n")
            if size >= limit and isinstance(step, Reply) and not step.calls:
                break
    return size


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _length(reply: Reply, format: Format) -> int:
    """Estimate the bytes that a reply takes with its results."""
    shown = [call.display for call in reply.calls] if format == "claude-code" else []
    return sum(len(_dumped([call.arguments, call.result])) for call in reply.calls) + len(_dumped(shown))


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a synthetic transcript.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--megabytes", type=float, default=5.0)
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0])
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    size = write_transcript(arguments.path, arguments.megabytes, arguments.format, seed=arguments.seed)
    print(f"{arguments.path}: {size:,} bytes, {arguments.format}")


if __name__ == "__main__":
    main()
