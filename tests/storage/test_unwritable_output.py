"""Outputs that cannot be written: exit status and reason, and what was there before stays."""

import os
import resource
from pathlib import Path

import pytest
from helpers import DATA, condense, condense_process, unharmed

from condense_cli.errors import ExitStatus, OutputError
from condense_cli.storage import files


@pytest.mark.parametrize("option", ["--output", "--report", "--html"])
@pytest.mark.parametrize("link", ["the file itself", "another spelling", "symbolic link", "hard link", "input"])
def test_an_output_that_is_the_input_is_refused(link: str, option: str, file: Path, tmp_path: Path) -> None:
    output = tmp_path / "other.jsonl"
    if link == "the file itself":
        output = file
    elif link == "another spelling":
        output = tmp_path / "." / ".." / tmp_path.name / file.name
    elif link == "symbolic link":
        output.symlink_to(file)
    elif link == "input":
        output, file = file, output
        file.symlink_to(output.name)
    else:
        output.hardlink_to(file)
    with unharmed(tmp_path):
        done = condense("run", file, "-p", "speed", option, str(output))
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "is the input file" in done.message


@pytest.mark.parametrize("options", [("-o", "--report"), ("-o", "--html"), ("--report", "--html")], ids=" ".join)
def test_two_outputs_in_one_file_are_refused(options: tuple[str, str], file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("out")
    with unharmed(tmp_path):
        for other in ("out", "link"):
            done = condense("run", file, options[0], tmp_path / "out", options[1], tmp_path / other)
            assert done.status == ExitStatus.USAGE
            assert "same file" in done.message


@pytest.mark.parametrize("option", ["--output", "--report", "--html"])
@pytest.mark.parametrize("output", ["", "folder", "session.jsonl/out.jsonl", "nowhere/out.jsonl"])
def test_an_output_that_cannot_be_written_fails(output: str, option: str, file: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with unharmed(tmp_path):
        done = condense("run", file.name, "-q", option, output, cwd=tmp_path)
    assert done.status == ExitStatus.FAILED
    assert (output or "Cannot write") in done.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_fails(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o500)
    done = condense("run", file, "-o", folder / "out.jsonl")
    folder.chmod(0o700)
    assert done.status == ExitStatus.FAILED
    assert "Permission denied" in done.message


def test_a_full_device_as_output_fails(file: Path, tmp_path: Path) -> None:
    with unharmed(tmp_path):
        done = condense_process("run", file, "-q", "-o", "/dev/full")
    assert done.status == ExitStatus.FAILED
    assert "/dev/full" in done.message
    assert "No space left" in done.message


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "arguments",
    [("run",), ("run", "--dry-run"), ("run", "--json"), ("diff", "-p", "speed"), ("diff", "-p", "speed", "--json")],
    ids=" ".join,
)
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_full_device_as_standard_output_fails(arguments: tuple[str, ...], unbuffered: str, file: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = condense_process(arguments[0], file, *arguments[1:], stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
    assert done.status == ExitStatus.FAILED
    assert "cannot write the output: No space left" in done.message


def test_a_folder_that_is_gone_is_not_said_to_be_a_failed_write(tmp_path: Path) -> None:
    """Another error of the system is told as what it is."""
    here = tmp_path / "here"
    here.mkdir()
    done = condense_process("sessions", "--here", cwd=here, before_start=here.rmdir)
    assert (done.status, done.message) == (ExitStatus.FAILED, "condense: No such file or directory.\n")


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("--version",)], ids=" ".join)
def test_help_on_a_full_device_fails_without_a_traceback(arguments: tuple[str, ...]) -> None:
    """Help and version are written by other code and fail the same way."""
    with Path("/dev/full").open("wb") as full:
        done = condense_process(*arguments, stdout=full)
    assert done.status == ExitStatus.FAILED
    assert "No space left" in done.message


def _only_4_kilobytes() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_disk_that_fills_up_under_standard_output_is_no_success(unbuffered: str, file: Path, tmp_path: Path) -> None:
    """If only the first part of the transcript could be written, the status says so."""
    with (tmp_path / "out.jsonl").open("wb") as out:
        done = condense_process(
            "run",
            file,
            "--target-tokens",
            "1000000",
            stdout=out,
            before_start=_only_4_kilobytes,
            env={"PYTHONUNBUFFERED": unbuffered},
        )
    assert (tmp_path / "out.jsonl").stat().st_size < len(DATA)
    assert done.status == ExitStatus.FAILED
    assert done.message


def test_a_disk_that_fills_up_under_an_output_file_leaves_the_old_one(file: Path, tmp_path: Path) -> None:
    """Whole or not at all: the file that was there is still there, and no part of the new one."""
    (tmp_path / "out.jsonl").write_text("precious")
    with unharmed(tmp_path):
        done = condense_process(
            "run", file, "--target-tokens", "1000000", "-o", tmp_path / "out.jsonl", before_start=_only_4_kilobytes
        )
    assert done.status == ExitStatus.FAILED
    assert "out.jsonl" in done.message


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt(), MemoryError()], ids=repr)
@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_writing_that_breaks_off_leaves_the_old_file_and_nothing_else(
    step: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("precious")

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch, unharmed(tmp_path):
        patch.setattr(Path if step == "replace" else os, step, fail)
        with pytest.raises((OutputError, KeyboardInterrupt, MemoryError)):
            files.write_bytes(target, b"new")


def test_the_umask_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that of the whole process: files that other threads make meanwhile would be anybody's."""
    monkeypatch.delattr(os, "umask")
    files.write_bytes(tmp_path / "out.jsonl", b"new")
    assert (tmp_path / "out.jsonl").read_bytes() == b"new"
