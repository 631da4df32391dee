"""The tools of the scripted agent. They really run, on a copy of the toy project in a temporary folder."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

HOME = "/home/dev"
PROJECT = f"{HOME}/inventory"
TODOS_CHANGED = "Todos have been modified successfully."


@dataclass(frozen=True)
class Outcome:
    """What a tool gave back: the text the model sees, and the client's own record of it."""

    text: str
    detail: Json | str
    is_error: bool = False


def failure(text: str, shown: str | None = None) -> Outcome:
    return Outcome(shown or text, f"Error: {text}", is_error=True)


def numbered(lines: list[str], first: int, mark: str = "→") -> str:
    return "\n".join(f"{first + index:6}{mark}{line}" for index, line in enumerate(lines))


def patch(old: str, new: str) -> list[Json]:
    """The change as hunks with three lines of context."""
    before, after = old.splitlines(), new.splitlines()
    hunks = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(3):
        lines: list[str] = []
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                lines += [f" {line}" for line in before[old_from:old_to]]
            else:
                lines += [f"-{line}" for line in before[old_from:old_to]]
                lines += [f"+{line}" for line in after[new_from:new_to]]
        first, last = group[0], group[-1]
        hunks.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return hunks


class Toolbox:
    """The tools, bound to one temporary folder that stands for the root of a machine."""

    def __init__(self, root: Path, files: dict[str, str]) -> None:
        self.root = root.resolve()
        self.project = self.root / PROJECT.lstrip("/")
        self.todos: list[Json] = []
        for name, text in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        (self.root / "tmp").mkdir()
        shim = self.root / "bin" / "python"
        shim.parent.mkdir()
        shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        shim.chmod(0o755)
        self.env = {
            "PATH": f"{shim.parent}{os.pathsep}/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.root / HOME.lstrip("/")),
            "TMPDIR": str(self.root / "tmp"),
            "LOGNAME": "dev",
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "80",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        self.tools: dict[str, Callable[[Json], Outcome]] = {
            "Read": self.read,
            "Edit": self.edit,
            "Write": self.write,
            "Bash": self.bash,
            "Grep": self.grep,
            "TodoWrite": self.todo_write,
            "read_file": self.read_file,
            "edit_file": self.edit_file,
            "run_command": self.run_command,
            "exec_command": self.exec_command,
            "apply_patch": self.apply_patch,
        }

    def use(self, name: str, args: Json) -> Outcome:
        return self.tools[name](args)

    # -- helpers

    def _path(self, path: str) -> Path:
        """The real place of a path of the session, absolute or relative to the project."""
        return self.root / (path if path.startswith("/") else f"{PROJECT}/{path}").lstrip("/")

    def _load(self, path: str) -> str:
        return self._path(path).read_text(encoding="utf-8")

    def _save(self, path: str, text: str) -> None:
        target = self._path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")

    def _clean(self, output: str) -> str:
        """Take out everything that differs from one recording to the next."""
        text = output.replace(str(self.root), "")
        text = re.sub(r"/\S*/(python3\.\d+/)(?!site-packages)", r"/usr/lib/\1", text)
        text = re.sub(r"in \d+\.\d\ds\b", "in 0.03s", text)
        return re.sub(r"\b0x[0-9a-f]{8,16}\b", "0x7f3a5c0d1000", text)

    def _run(self, command: str) -> tuple[int, str, str]:
        run = subprocess.run(
            ["bash", "-c", command],
            cwd=self.project,
            env=self.env,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return run.returncode, self._clean(run.stdout).rstrip("\n"), self._clean(run.stderr).rstrip("\n")

    # -- the tools of the Claude Code sessions

    def read(self, args: Json) -> Outcome:
        lines = self._load(args["file_path"]).split("\n")
        first = args.get("offset", 1)
        shown = lines[first - 1 :][: args.get("limit", len(lines))]
        file = {
            "filePath": args["file_path"],
            "content": "\n".join(shown),
            "numLines": len(shown),
            "startLine": first,
            "totalLines": len(lines),
        }
        return Outcome(numbered(shown, first), {"type": "text", "file": file})

    def edit(self, args: Json) -> Outcome:
        path, old, new = args["file_path"], args["old_string"], args["new_string"]
        before = self._load(path)
        everywhere = args.get("replace_all", False)
        found = before.count(old)
        if found == 0:
            text = f"String to replace not found in file.\nString: {old}"
            return failure(text, f"<tool_use_error>{text}</tool_use_error>")
        if found > 1 and not everywhere:
            text = f"Found {found} matches of the string to replace, but replace_all is false.\nString: {old}"
            return failure(text, f"<tool_use_error>{text}</tool_use_error>")
        after = before.replace(old, new)
        self._save(path, after)
        if everywhere:
            told = f"All occurrences of '{old}' were successfully replaced with '{new}'."
        else:
            start = before[: before.index(old)].count("\n")
            first = max(0, start - 4)
            snippet = after.split("\n")[first : start + new.count("\n") + 5]
            told = "Here's the result of running `cat -n` on a snippet of the edited file:\n"
            told += numbered(snippet, first + 1)
        detail = {
            "filePath": path,
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": patch(before, after),
            "userModified": False,
            "replaceAll": everywhere,
        }
        return Outcome(f"The file {path} has been updated. {told}", detail)

    def write(self, args: Json) -> Outcome:
        path, content = args["file_path"], args["content"]
        if self._path(path).exists():
            raise FileExistsError(path)  # the scripted agent edits files that exist
        self._save(path, content)
        detail = {
            "type": "create",
            "filePath": path,
            "content": content,
            "structuredPatch": [],
            "originalFile": None,
        }
        return Outcome(f"File created successfully at: {path}", detail)

    def bash(self, args: Json) -> Outcome:
        code, stdout, stderr = self._run(args["command"])
        both = "\n".join(part for part in (stdout, stderr) if part)
        if code:
            return failure(f"Exit code {code}\n{both}".rstrip("\n"))
        detail = {
            "stdout": stdout,
            "stderr": stderr,
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
        }
        return Outcome(both, detail)

    def grep(self, args: Json) -> Outcome:
        wanted = re.compile(args["pattern"])
        start = self._path(args.get("path", PROJECT))
        hits: list[str] = []
        names: list[str] = []
        for path in sorted(start.rglob(args.get("glob", "*"))):
            if not path.is_file():
                continue
            name = path.relative_to(self.project).as_posix()
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if wanted.search(line):
                    hits.append(f"{name}:{number}:{line}" if args.get("-n") else f"{name}:{line}")
                    if name not in names:
                        names.append(name)
        if args.get("output_mode") == "content":
            text = "\n".join(hits)
            detail: Json = {
                "mode": "content",
                "numFiles": 0,
                "filenames": [],
                "content": text,
                "numLines": len(hits),
            }
            return Outcome(text or "No matches found", detail)
        detail = {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)}
        found = f"Found {len(names)} file{'' if len(names) == 1 else 's'}" if names else "No files found"
        return Outcome("\n".join([found, *names]), detail)

    def todo_write(self, args: Json) -> Outcome:
        old, self.todos = self.todos, args["todos"]
        return Outcome(TODOS_CHANGED, {"oldTodos": old, "newTodos": self.todos})

    # -- the tools of the chat sessions

    def read_file(self, args: Json) -> Outcome:
        lines = self._load(args["path"]).splitlines()
        first, last = args.get("start_line", 1), args.get("end_line", len(lines))
        return Outcome(numbered(lines[first - 1 : last], first, "\t"), "")

    def edit_file(self, args: Json) -> Outcome:
        path = args["path"]
        before = self._load(path)
        found = before.count(args["old_text"])
        if found != 1:
            return failure(f"{path}: old_text was found {found} times, it must be there exactly once")
        after = before.replace(args["old_text"], args["new_text"])
        self._save(path, after)
        diff = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm="")
        return Outcome("\n".join([f"Edited {path}", "", *diff]), "")

    def run_command(self, args: Json) -> Outcome:
        code, stdout, stderr = self._run(args["command"])
        return Outcome("\n".join([part for part in (stdout, stderr) if part] + [f"[exit code: {code}]"]), "")

    # -- the tools of the Codex session

    def exec_command(self, args: Json) -> Outcome:
        code, stdout, stderr = self._run(args["cmd"])
        text = "".join(f"{part}\n" for part in (stdout, stderr) if part)
        return Outcome(text, {"exit_code": code}, is_error=code != 0)

    def apply_patch(self, args: Json) -> Outcome:
        """A patch of one hunk: its lines with - and + in place of those with -."""
        path, *lines = args["input"].removeprefix("*** Begin Patch\n*** Update File: ").split("\n")
        old = "\n".join(line[1:] for line in lines if line.startswith("-"))
        new = "\n".join(line[1:] for line in lines if line.startswith("+"))
        self._save(path, self._load(path).replace(old, new))
        return Outcome(f"Success. Updated the following files:\nM {path}\n", {"exit_code": 0})
