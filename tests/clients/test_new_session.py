"""`condense run --new-session`: a sibling that its client resumes, and nothing but ids changed in it."""

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any
from uuid import UUID

import killing
import pytest
import real
from helpers import Outcome, as_lines, condense, condense_on_terminal, session, snapshot

from condense_cli import api
from condense_cli.clients import claude_code
from condense_cli.clients.choices import RESUMABLE
from condense_cli.clients.new_session import session_files, sibling, write_new_session
from condense_cli.clients.table import CLIENTS
from condense_cli.core import json_text
from condense_cli.errors import ExitStatus, UsageError
from condense_cli.formats.engine.container import open_document

OLD = killing.FILE.removesuffix(".jsonl")
OTHER = "5f0c9a1e-0000-4000-8000-00000000000f"
ROLLOUT = f"rollout-2026-08-03T10-48-56-{OLD}.jsonl"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A session where Claude Code keeps it."""
    path = tmp_path / "projects" / "-home-dev" / killing.FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(killing.session())
    return path


def new_session(file: Path, *arguments: str, cwd: Path | None = None) -> Outcome:
    return condense("run", file, "-p", "speed", "--new-session", *arguments, cwd=cwd)


def written(file: Path) -> Path:
    (path,) = (path for path in file.parent.iterdir() if path != file and path.suffix == file.suffix)
    return path


def values(data: bytes) -> list[Any]:
    return list(open_document(data, "file", lenient=True).values)


# The file is named by the new id, and holds what `-o` writes with that id in place of the old one.
def test_a_claude_session_gets_a_sibling(file: Path, tmp_path: Path) -> None:
    before = snapshot(file.parent)
    done = new_session(file)
    assert done.status == ExitStatus.DONE
    new = written(file).stem
    assert UUID(new).version == 5
    condense("run", file, "-p", "speed", "-o", tmp_path / "small.jsonl")
    *records, title = written(file).read_bytes().splitlines(keepends=True)
    assert b"".join(records) == (tmp_path / "small.jsonl").read_bytes().replace(OLD.encode(), new.encode())
    assert json.loads(title) == {
        "type": "custom-title",
        "customTitle": f"{claude_code.title(file.read_bytes())} (condensed)",
        "sessionId": new,
    }
    assert snapshot(file.parent).items() >= before.items()
    assert f"New session: {written(file)}" in done.text
    assert done.text.endswith(f"Resume it: cd /home/dev && claude --resume {new}\n")


# A session that is condensed again keeps its title.
def test_a_title_says_once_that_a_session_is_condensed(file: Path) -> None:
    new_session(file)
    data = written(file).read_bytes()
    assert claude_code.CLAUDE_CODE.files is not None
    assert claude_code.CLAUDE_CODE.files.titled(data, written(file).stem) == data


# The client is started in the folder of the session, and its status is that of the run.
def test_the_client_goes_on_in_the_new_session(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "work"
    here.mkdir()
    file.write_bytes(killing.session().replace(b'"/home/dev"', json.dumps(str(here)).encode()))
    fake = tmp_path / "bin" / "claude"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho "$PWD" "$@" > {tmp_path}/started\nexit 7\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    assert new_session(file, "--resume").status == 7
    assert (tmp_path / "started").read_text() == f"{here} --resume {written(file).stem}\n"
    (tmp_path / "started").unlink()
    # Nothing was written, so nothing is resumed.
    assert condense("run", written(file), "-p", "lossless", "--new-session", "--resume").status == ExitStatus.DONE
    assert not (tmp_path / "started").exists()
    here.rmdir()
    gone = new_session(file, "--resume").stderr
    assert f"The folder of the session, {here}, is missing" in gone
    assert f"cd {here} && claude --resume {written(file).stem}" in gone
    here.mkdir()
    fake.unlink()
    assert "Cannot start claude" in new_session(file, "--resume").stderr


@pytest.mark.parametrize("options", [["--resume"], ["--resume", "--new-session", "--dry-run"], ["--resume", "-o", "x"]])
def test_only_a_new_session_is_resumed(file: Path, options: list[str]) -> None:
    ran = condense("run", file, *options)
    assert (ran.status, "Use it with --new-session alone" in ran.stderr) == (ExitStatus.USAGE, True)


# Only the id of the session itself: of another session's records, and inside texts, the old one stays.
def test_other_ids_and_texts_stay() -> None:
    records: list[dict[str, Any]] = [
        {"type": "user", "isSidechain": False, "sessionId": OTHER, "message": {"content": "x"}},
        {
            "type": "user",
            "isSidechain": False,
            "sessionId": OLD,
            "message": {"content": f"see {OLD}", "sessionId": OLD},
        },
        {"type": "assistant", "isSidechain": True, "sessionId": OLD},
        {"type": "custom-title", "customTitle": "mine", "sessionId": OLD},
        {"type": "summary", "summary": "no id"},
    ]
    found = sibling(as_lines(records), "claude-code", killing.FILE, "folder")
    changed = values(found.data)
    assert [record.get("sessionId") for record in changed] == [OTHER, found.id, found.id, found.id, None]
    assert changed[1]["message"] == records[1]["message"]
    assert found.name == f"{found.id}.jsonl"


# A file with a name of its own, such as a copy: the newest message says whose it is.
def test_a_file_that_is_not_named_by_its_session() -> None:
    records = [{"type": "user", "isSidechain": False, "sessionId": id} for id in (OTHER, OLD)]
    found = sibling(as_lines(records), "claude-code", "copy.jsonl", "folder")
    assert [record["sessionId"] for record in values(found.data)] == [OTHER, found.id]


# The client looks in the folder that is named after the one it was started in.
def test_the_folder_where_the_session_was_started() -> None:
    records = [
        {"type": "user", "isSidechain": False, "sessionId": OLD, "cwd": cwd}
        for cwd in ("/home/dev/a.b/deep", "/home/dev/a.b", "/home/dev")
    ]
    data = as_lines(records)
    assert sibling(data, "claude-code", killing.FILE, "-home-dev-a-b").cwd == "/home/dev/a.b"
    assert sibling(data, "claude-code", killing.FILE, "elsewhere").cwd == "/home/dev/a.b/deep"


# A long name is cut, and a hash that only the client knows follows.
def test_the_folder_of_a_long_path() -> None:
    root = f"/home/{'a' * 191}/b"
    assert len(root) == 199
    for cwd, folder in ((f"{root}c", f"-home-{'a' * 191}-bc"), (f"{root}/deep", f"-home-{'a' * 191}-b--1x2y")):
        records = [
            {"type": "user", "isSidechain": False, "sessionId": OLD, "cwd": place} for place in ("/home", root, cwd)
        ]
        assert sibling(as_lines(records), "claude-code", killing.FILE, folder).cwd == cwd
        assert sibling(as_lines(records), "claude-code", killing.FILE, "-home-else--1x2y").cwd == "/home"


def test_the_command_needs_no_cd_where_the_session_was_started(file: Path, tmp_path: Path) -> None:
    here = tmp_path / "my work"
    here.mkdir()
    file.write_bytes(killing.session().replace(b'"/home/dev"', json.dumps(str(here)).encode()))
    assert "Resume it: claude --resume" in new_session(file, cwd=here).text
    assert f"Resume it: cd '{here}' && claude --resume" in new_session(file).text


# Where the client does not look, it takes the path.
def test_a_session_outside_the_folders_of_the_client(tmp_path: Path) -> None:
    file = tmp_path / killing.FILE
    file.write_bytes(killing.session())
    said = new_session(file).text
    assert said.endswith(f"claude --resume {written(file)}\n")


def test_a_link_to_a_session_gets_a_sibling_where_the_session_is(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "current.jsonl"
    link.symlink_to(file)
    new_session(link)
    assert UUID(written(file).stem)


# Twice is once. A session that went on is not overwritten.
def test_the_same_again_and_a_session_that_went_on(file: Path) -> None:
    new_session(file)
    before = snapshot(file.parent)
    again = new_session(file)
    assert (again.status, snapshot(file.parent)) == (ExitStatus.DONE, before)
    assert f"This session already exists: {written(file)}" in again.text
    with written(file).open("ab") as opened:
        opened.write(b"{}\n")
    before = snapshot(file.parent)
    third = new_session(file)
    assert (third.status, snapshot(file.parent)) == (ExitStatus.FAILED, before)
    assert str(written(file)) in third.message


# What others may not read stays so.
def test_permissions_are_those_of_the_original(file: Path) -> None:
    file.chmod(0o600)
    new_session(file)
    assert stat.S_IMODE(written(file).stat().st_mode) == 0o600


def test_the_json_report(file: Path) -> None:
    report = new_session(file, "--json").json
    new = written(file)
    assert report["output"] == str(new)
    assert report["new_session"] == {
        "id": new.stem,
        "path": str(new),
        "command": ["claude", "--resume", new.stem],
        "cwd": "/home/dev",
        "is_new": True,
    }
    assert new_session(file, "--json").json["new_session"]["is_new"] is False
    assert UUID(new_session(file, "-q").text.strip())


def test_nothing_to_change_and_a_dry_run_write_nothing(file: Path) -> None:
    before = snapshot(file.parent)
    assert new_session(file, "--dry-run").status == ExitStatus.DONE
    unchanged = condense("run", file, "--new-session", "--keep-recent", "100", "--lossless-only")
    assert "nothing was written" in unchanged.text
    assert snapshot(file.parent) == before


def test_without_hard_links_it_is_renamed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert new_session(file).status == ExitStatus.DONE
    assert UUID(written(file).stem)


# On a terminal, where nothing was written, one line says how to go on.
@pytest.mark.slow
def test_the_report_proposes_a_new_session(file: Path, tmp_path: Path) -> None:
    *_, how, better = condense_on_terminal("run", file, "-p", "speed", columns=120).plain.splitlines()
    assert "--new-session" in how
    assert "--target-percent" in better
    other = tmp_path / "messages.jsonl"
    other.write_bytes(as_lines(session()))
    assert "--new-session" not in condense_on_terminal("run", other, "-p", "speed").plain


def rollout() -> list[dict[str, Any]]:
    meta = {"id": OLD, "session_id": OLD, "timestamp": "2026-08-03T10:48:56.000Z", "cwd": "/home/dev"}
    return [
        {"timestamp": "t", "ordinal": 0, "type": "session_meta", "payload": meta},
        {"timestamp": "t", "ordinal": 1, "type": "event_msg", "payload": {"type": "x", "thread_id": OLD, "id": OLD}},
        {"timestamp": "t", "ordinal": 2, "type": "session_meta", "payload": {"id": OTHER, "forked_from_id": OLD}},
    ]


# Codex demands the new id in the name and in session_meta; the time in the name may stay.
def test_a_codex_session_gets_a_sibling(tmp_path: Path) -> None:
    file = tmp_path / "sessions" / "2026" / "08" / "03" / ROLLOUT
    file.parent.mkdir(parents=True)
    file.write_bytes(as_lines(rollout()))
    found = write_new_session(file, "codex", file.read_bytes())
    assert found.path == written(file)
    assert found.path.name == f"rollout-2026-08-03T10-48-56-{found.id}.jsonl"
    meta, event, forked = values(found.path.read_bytes())
    assert meta["payload"] == rollout()[0]["payload"] | {"id": found.id, "session_id": found.id}
    assert [event, forked] == rollout()[1:]
    assert found.command_line("/") == f"cd /home/dev && codex resume {found.id}"
    assert found.command_line("/home/dev") == f"codex resume {found.id}"
    assert (found.is_new, found.is_found) == (True, True)


# It refuses names of another form, and takes no path.
def test_a_codex_file_with_another_name_and_place(tmp_path: Path) -> None:
    file = tmp_path / "copy.jsonl"
    file.write_bytes(as_lines(rollout()))
    found = write_new_session(file, "codex", file.read_bytes())
    assert found.path.name == f"rollout-2026-08-03T10-48-56-{found.id}.jsonl"
    assert found.command == ("codex", "resume", found.id)
    assert not found.is_found


@pytest.mark.parametrize("format", sorted(RESUMABLE))
@pytest.mark.parametrize(
    "record",
    [
        {"type": "user", "sessionId": OLD, "isSidechain": True},
        {"type": "user", "isSidechain": False},
        {"type": "session_meta", "payload": {"id": None}},
        {"type": "session_meta"},
        [],
    ],
)
def test_what_no_client_could_resume_is_refused(format: str, record: Any) -> None:
    with pytest.raises(UsageError, match="is not a session that"):
        sibling(json.dumps(record).encode() + b"\n{}\n", format, "x.jsonl", "folder")


# Every refusal says what to do instead, before any work is done.
@pytest.mark.parametrize(
    ("format", "hint"),
    [
        ("anthropic", "is for sessions of Claude Code and Codex, and this is anthropic"),
        ("roo", "--in-place"),
        ("-", "Name the session"),
    ],
)
def test_where_there_are_no_sessions_it_is_refused(format: str, hint: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    records: list[dict[str, Any]] = session()
    if format == "roo":
        records = [{"role": "user", "content": [{"type": "text", "text": "<task>x</task>"}], "ts": 1}, *records]
    file.write_text(json.dumps(records))
    before = snapshot(tmp_path)
    name = "-" if format == "-" else str(file)
    done = condense("run", name, "--new-session", stdin=killing.session())
    assert (done.status, snapshot(tmp_path)) == (ExitStatus.USAGE, before)
    assert hint in done.message


def check_only_ids_changed(data: bytes, format: str, path: Path) -> None:
    """Exchanging the id back gives the condensed file byte for byte; records without it are untouched."""
    found = sibling(data, format, path.name, path.parent.name)
    files = session_files(format)
    before, after = open_document(data, "before", lenient=True), open_document(found.data, "after", lenient=True)
    old = files.identify(values(data), path.name, path.parent.name).id
    changed = 0
    for index, (was, now) in enumerate(zip(before.values, after.values, strict=True)):
        raw = after.source.raw(index)
        if raw != before.source.raw(index):
            back = {place: json.dumps(old) for place in files.places(now, found.id)}
            assert back
            assert json_text.splice(json_text.decode(raw), back) == json_text.decode(before.source.raw(index))
            changed += 1
        else:
            assert not (isinstance(was, dict) and list(files.places(was, old)))
    assert changed
    assert found == sibling(data, format, path.name, path.parent.name), "not deterministic"


@pytest.mark.real
@pytest.mark.parametrize("path", real.files_of("claude-code"), ids=lambda path: path.name[-40:])
def test_only_ids_change_in_real_claude_sessions(path: Path) -> None:
    data = path.read_bytes()
    try:
        sibling(data, "claude-code", path.name, path.parent.name)
    except UsageError:
        assert "agent-" in path.name or b'"sessionId"' not in data
        return
    check_only_ids_changed(data, "claude-code", path)


@pytest.mark.real
@pytest.mark.parametrize("path", sorted((real.FOLDER / "codex").glob("*.jsonl")), ids=lambda path: path.name[-40:])
def test_only_ids_change_in_real_codex_sessions(path: Path) -> None:
    check_only_ids_changed(path.read_bytes(), "codex", path)


# A condensed session says the same under its new id.
def test_the_new_session_reads_as_what_was_condensed(tmp_path: Path) -> None:
    sample = real.SESSION
    file = Path(shutil.copy(sample, tmp_path))
    new_session(file)
    result = api.condense(api.load(file), preset="speed")
    new = api.load(written(file))
    assert [block.text for _, block in new.blocks()] == [block.text for _, block in result.transcript.blocks()]
    check_only_ids_changed(api.dump(result), "claude-code", file)


def test_help_and_reports_name_the_clients_that_resume() -> None:
    assert {name for name, client in CLIENTS.items() if client.files is not None} == RESUMABLE
