"""Reading and writing whole files: what is there afterwards, and which error says what; how extras are
installed."""

import contextlib
import errno
import io
import os
import shlex
import stat
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import DATA, as_lines, condense
from many_files import run
from replacing import in_place
from rowsets import LONG, rows

from condense_cli.errors import ExitStatus, OutputError, UnreadableError, UsageError
from condense_cli.llm.cache import Cache, Stored
from condense_cli.rows.many_files import NAME
from condense_cli.storage import backups, extras, files
from condense_cli.storage.files import (
    Stamp,
    check_no_links,
    check_output,
    check_replaceable,
    create_bytes,
    holds,
    input_errors,
    is_same_file,
    make_folder,
    name_new,
    output_errors,
    read_bytes,
    stamp,
    sync_folder,
    write_bytes,
    written_whole,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_and_standard_input_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").write_bytes(b"content")
    assert read_bytes(tmp_path / "in") == read_bytes(str(tmp_path / "in")) == b"content"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"from a pipe")))
    assert read_bytes("-") == b"from a pipe"


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        ("", "The name of the file is empty.", "Name a transcript, or use - for standard input."),
        ("gone", "There is no file {path}.", "Check the path, or use - for standard input."),
        ("folder", "{path} is a folder.", "Name a transcript file in it."),
    ],
)
def test_what_cannot_be_read_is_named(name: str, said: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / name) if name else ""
    with pytest.raises(UnreadableError) as caught:
        read_bytes(path)
    assert (caught.value.message, caught.value.hint) == (said.format(path=path), hint)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EIO, "the disk is broken"), "Cannot read x: the disk is broken."),
        (OSError("only words"), "Cannot read x: only words."),
    ],
)
def test_other_errors_say_what_the_system_says(error: OSError, said: str) -> None:
    with pytest.raises(UnreadableError) as caught, input_errors("x"):
        raise error
    assert caught.value.message == said
    with pytest.raises(OutputError) as failed, output_errors(Path("x")):
        raise error
    assert failed.value.message == said.replace("read", "write")
    assert failed.value.hint == "Nothing was written there."


def test_a_new_file_has_what_every_new_file_has(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    write_bytes(tmp_path / "out", b"content")
    assert (tmp_path / "out").read_bytes() == b"content"
    assert mode(tmp_path / "out") == mode(tmp_path / "usual")
    assert names(tmp_path) == ["out", "usual"]


@pytest.mark.parametrize("bits", [0o600, 0o644, 0o4750])
def test_a_file_that_is_replaced_keeps_its_permissions(bits: int, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"old")
    (tmp_path / "out").chmod(bits)
    write_bytes(tmp_path / "out", b"new")
    assert ((tmp_path / "out").read_bytes(), mode(tmp_path / "out")) == (b"new", bits)


# Others must not read in it what they may not read in the file, before it has the file's permissions.
def test_while_it_is_written_nobody_else_reads_a_file_that_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"old")
    (tmp_path / "out").chmod(0o640)
    with written_whole(tmp_path / "out"):
        (part,) = [path for path in tmp_path.iterdir() if path.name != "out"]
        assert part.name.startswith(".out.")
        assert part.name.endswith(".part")
        assert len(part.name) == len(".out..part") + 8
        assert mode(part) == 0o600


def test_the_owner_is_given_before_the_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").write_bytes(b"old")
    status, made = (tmp_path / "out").stat(), []
    monkeypatch.setattr(os, "chown", lambda path, user, group: made.append((user, group, mode(path))))
    write_bytes(tmp_path / "out", b"new")
    assert made == [(status.st_uid, status.st_gid, 0o600)]


def test_where_owners_cannot_be_given_it_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    (tmp_path / "out").write_bytes(b"old")
    monkeypatch.setattr(os, "chown", refuse)
    write_bytes(tmp_path / "out", b"new")
    assert (tmp_path / "out").read_bytes() == b"new"


@pytest.mark.parametrize("is_there", [True, False])
def test_an_error_leaves_everything_as_it_was(is_there: bool, tmp_path: Path) -> None:
    path = tmp_path / "out"
    if is_there:
        path.write_bytes(b"old")
    with contextlib.suppress(KeyError), written_whole(path) as file:
        file.write(b"half")
        raise KeyError
    assert names(tmp_path) == ["out"] * is_there
    assert not is_there or path.read_bytes() == b"old"


# A signal may be heard between the file's making and the moment when it has a name here.
def test_a_process_that_is_told_to_stop_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = os.open

    def stop(name: str, flags: int, mode: int) -> int:
        os.close(make(name, flags, mode))
        raise SystemExit(1)

    monkeypatch.setattr(os, "open", stop)
    with pytest.raises(SystemExit):
        write_bytes(tmp_path / "a.txt", b"new")
    assert not list(tmp_path.iterdir())


def test_the_last_check_may_forbid_it(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    seen: list[list[str]] = []

    def check() -> None:
        seen.append(names(tmp_path))
        raise OutputError("It changed.")

    with pytest.raises(OutputError, match="It changed"):
        write_bytes(path, b"new", last_check=check)
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["out"])
    assert len(seen[0]) == 2


def test_a_link_that_is_named_leads_to_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "link").symlink_to("below/target")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "below" / "target").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_a_device_is_written_to_as_it_is() -> None:
    write_bytes(Path(os.devnull), b"anything")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(("name", "said"), [("folder", "it is a folder"), ("gone/out", "No such file or directory")])
def test_what_cannot_be_written_is_named(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError) as caught:
        write_bytes(tmp_path / name, b"x")
    assert caught.value.message == f"Cannot write {tmp_path / name}: {said}."
    assert names(tmp_path) == ["folder"]


def test_a_file_that_is_read_only_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    asked: list[tuple[Path, int]] = []

    def access(path: Path, what: int) -> bool:
        asked.append((path, what))
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(OutputError, match=r"Cannot write .*: the file is read-only\.$"):
        write_bytes(path, b"new")
    assert asked == [(path, os.W_OK)]
    with pytest.raises(PermissionError) as caught:
        check_replaceable(path)
    assert caught.value.args == (0, "the file is read-only")
    check_replaceable(tmp_path / "gone")
    assert len(asked) == 2


def test_a_new_file_is_made_like_another(tmp_path: Path) -> None:
    (tmp_path / "like").write_bytes(b"")
    (tmp_path / "like").chmod(0o640)
    assert create_bytes(tmp_path / "out", b"content", like=tmp_path / "like") is True
    assert ((tmp_path / "out").read_bytes(), mode(tmp_path / "out")) == (b"content", 0o640)
    assert names(tmp_path) == ["like", "out"]
    assert create_bytes(tmp_path / "out", b"content", like=tmp_path / "like") is False


def test_a_new_file_takes_no_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"other")
    with pytest.raises(OutputError) as caught:
        create_bytes(tmp_path / "out", b"content", like=tmp_path / "out")
    assert caught.value.message == f"{tmp_path / 'out'} already exists and holds something else."
    assert caught.value.hint == "It was left as it is."
    assert ((tmp_path / "out").read_bytes(), names(tmp_path)) == (b"other", ["out"])


def test_a_file_that_comes_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "like").write_bytes(b"")
    (tmp_path / "out").write_bytes(b"meanwhile")
    monkeypatch.setattr(Path, "exists", lambda self: False)
    with pytest.raises(OutputError):
        create_bytes(tmp_path / "out", b"content", like=tmp_path / "like")
    monkeypatch.undo()
    assert ((tmp_path / "out").read_bytes(), names(tmp_path)) == (b"meanwhile", ["like", "out"])


def test_where_there_are_no_second_names_a_file_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "old").write_bytes(b"content")
    name_new(tmp_path / "old", tmp_path / "new")
    assert names(tmp_path) == ["new"]
    (tmp_path / "old").write_bytes(b"more")
    with pytest.raises(FileExistsError) as caught:
        name_new(tmp_path / "old", tmp_path / "new")
    assert caught.value.args == (0, "it exists")
    assert ((tmp_path / "new").read_bytes(), names(tmp_path)) == (b"content", ["new", "old"])


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError) as caught:
        make_folder(tmp_path / "file" / "b")
    assert caught.value.message == f"Cannot make the folder {tmp_path / 'file' / 'b'}: Not a directory."


def test_folders_that_cannot_be_flushed_are_no_error(tmp_path: Path) -> None:
    sync_folder(tmp_path / "gone")


@pytest.mark.parametrize("below", ["link", "a/link", "link/b", "a/link/b"])
def test_a_link_on_the_way_is_named(below: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "folder" / "a").mkdir(parents=True)
    for link in (tmp_path / "folder" / "link", tmp_path / "folder" / "a" / "link"):
        link.symlink_to(tmp_path / "real")
    with pytest.raises(OutputError) as caught:
        check_no_links(tmp_path / "folder", below)
    found = tmp_path / "folder" / below.removesuffix("/b")
    assert caught.value.message == f"{found} is a link; nothing is written through links."
    assert caught.value.hint == "Remove it, or name another folder."
    check_no_links(tmp_path / "folder", "a/b/c")
    check_no_links(tmp_path / "folder" / "link", "b")


def test_whether_a_file_holds_exactly_these_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    for piece in (4, 1 << 20):
        monkeypatch.setattr(files, "_PIECE", piece)
        path.write_bytes(b"0123456789")
        assert holds(path, b"0123456789")
        for other in (b"012345678", b"01234567890", b"0123456780", b"", b"x123456789", b"0123x56789"):
            assert not holds(path, other)
    assert not holds(tmp_path / "gone", b"")


def test_a_stamp_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert stamp(path) == Stamp(None, None, None, None)
    path.write_bytes(b"12345")
    os.utime(path, ns=(1, 2))
    status = path.stat()
    assert stamp(path) == Stamp(status.st_dev, status.st_ino, 5, 2)


def test_an_output_that_is_the_input_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    (tmp_path / "link").symlink_to(path)
    assert is_same_file(str(path), tmp_path / "link")
    assert not is_same_file(str(path), tmp_path / "gone")
    with pytest.raises(UsageError) as caught:
        check_output(str(path), tmp_path / "link")
    assert caught.value.message == f"The output {tmp_path / 'link'} is the input file."
    assert caught.value.hint == "Write to another file."
    with pytest.raises(UsageError) as hinted:
        check_output(str(path), path, "Use --in-place.")
    assert hinted.value.hint == "Use --in-place."
    check_output(str(path), tmp_path / "gone")


def test_standard_input_is_no_file_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_bytes(b"")
    check_output("-", Path("-"))


KEY = b"key"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A file of somebody else."""
    path = tmp_path / "elsewhere" / "mine.jsonl"
    path.parent.mkdir()
    path.write_text("mine")
    return path


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    for name, data in {
        "a/session.jsonl": DATA,
        "a/rows.jsonl": as_lines(rows(LONG, 1)),
        "b/session.jsonl": DATA,
    }.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "in"


@pytest.mark.parametrize("name", ["a/session.jsonl", "a/rows.jsonl"])
def test_a_file_that_is_a_link_in_the_folder_of_results_fails_alone(
    name: str, inputs: Path, elsewhere: Path, tmp_path: Path
) -> None:
    link = tmp_path / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    done = run(inputs, "--out-dir", "out", "--json", cwd=tmp_path)
    assert done.status == ExitStatus.FAILED
    (failed,) = [each for each in done.json["results"] if each["status"] == "failed"]
    assert "is a link" in failed["why"]
    assert (link.is_symlink(), elsewhere.read_text()) == (True, "mine")
    assert (tmp_path / "out/b/session.jsonl").is_file()


def test_a_link_to_nothing_makes_no_file_there(inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "out/b").mkdir(parents=True)
    (tmp_path / "out/b/session.jsonl").symlink_to(tmp_path / "gone")
    assert run(inputs, "--out-dir", "out", cwd=tmp_path).status == ExitStatus.FAILED
    assert not (tmp_path / "gone").exists()


def test_a_folder_that_is_a_link_in_the_folder_of_results_is_not_entered(
    inputs: Path, elsewhere: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/b").symlink_to(elsewhere.parent)
    done = run(inputs, "--out-dir", "out", cwd=tmp_path)
    assert done.status == ExitStatus.FAILED
    assert os.listdir(elsewhere.parent) == [elsewhere.name]


def test_the_note_of_what_was_done_is_no_link(inputs: Path, elsewhere: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / NAME).symlink_to(elsewhere)
    done = run(inputs, "--out-dir", "out", cwd=tmp_path)
    assert done.status == ExitStatus.FAILED
    assert "is a link" in done.stderr
    assert elsewhere.read_text() == "mine"
    assert os.listdir(tmp_path / "out") == [NAME]


# The user named these, and nobody else put them there.
def test_what_the_user_names_may_be_a_link(inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    assert run(inputs, "--out-dir", "out", cwd=tmp_path).status == ExitStatus.DONE
    (tmp_path / "link.jsonl").symlink_to("target.jsonl")
    assert run(inputs / "b/session.jsonl", "-o", "link.jsonl", cwd=tmp_path).status == ExitStatus.DONE
    assert (tmp_path / "target.jsonl").read_bytes() == (tmp_path / "real/b/session.jsonl").read_bytes()
    assert (tmp_path / "link.jsonl").is_symlink()


def test_a_link_that_is_named_like_a_backup_is_none(elsewhere: Path, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(DATA)
    in_place(file)
    (file.parent / f"{file.name}.20991231T000000.000000Z.4-5f2c91d8a1b2.condense-backup").symlink_to(elsewhere)
    assert len(backups.backups_of(file)) == 1
    condense("undo", file)
    assert (file.is_symlink(), file.read_bytes()) == (False, DATA)


def test_a_cache_that_is_a_link_is_not_used(elsewhere: Path, tmp_path: Path) -> None:
    link = tmp_path / "cache" / "summaries.sqlite3"
    link.parent.mkdir()
    elsewhere.write_bytes(b"")
    elsewhere.chmod(0o644)
    link.symlink_to(elsewhere)
    cache = Cache(link)
    cache.put(KEY, Stored("an answer"))
    assert cache.get(KEY) is None
    assert any("is a link" in note for note in cache.notes)
    assert (elsewhere.read_bytes(), elsewhere.stat().st_mode & 0o777) == (b"", 0o644)


EXTRAS = ("images", "mcp", "parquet", "png", "proxy", "ray", "redact", "ui")


@pytest.mark.parametrize("extra", EXTRAS)
def test_it_names_the_packages_of_the_extra(extra: str) -> None:
    command = shlex.split(extras.how_to_install(extra))
    assert command[0] == sys.executable
    assert command[1:4] == ["-m", "pip", "install"]
    assert len(command) == (7 if extra == "proxy" else 5)
    assert all(">=" in package and "extra" not in package for package in command[4:])


@pytest.mark.parametrize("prefix", ["/home/me/.local/share/pipx/venvs/condense-cli", "/home/me/.local/pipx/venvs/c"])
def test_pipx_is_asked_where_it_made_the_environment(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    assert extras.how_to_install("ui").startswith("pipx inject condense-cli 'textual>=")


def test_uv_is_asked_where_there_is_no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert extras.how_to_install("ui").startswith(f"uv pip install --python {sys.executable} 'textual>=")


def test_what_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", unknown)
    assert extras.how_to_install("ui").endswith("'condense-cli[ui]'")


def test_one_exit_status_tells_of_a_missing_extra() -> None:
    assert {extras.missing("It needs that", extra).status for extra in EXTRAS} == {ExitStatus.USAGE}
