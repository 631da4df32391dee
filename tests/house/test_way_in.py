"""The way through the house: how many files the main job goes through, and whether it asks what it need not know."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from condense_cli.config.preset_folders import presets_folder

MOST: Final = 90
"""Files of which some function runs. Fewer is better; a file more needs a reason."""

_TRACED: Final = """
import sys
from pathlib import Path
found = set()
def entered(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_flags & 1:
        found.add(code.co_filename)
sys.argv = ["condense", *sys.argv[1:]]
sys.setprofile(entered)
import condense_cli
from condense_cli.cli import main
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
package = Path(condense_cli.__file__).parent
own = [Path(name).relative_to(package).as_posix() for name in found if package in Path(name).parents]
print("FILES", *sorted(own), sep="\\n")
"""


@pytest.mark.slow
def test_the_main_job_goes_through_few_files(tmp_path: Path) -> None:
    sample = presets_folder().parent / "sample_transcripts" / "bugfix-session.jsonl"
    command = ["run", str(sample), "--preset", "speed", "-o", str(tmp_path / "small.jsonl")]
    done = subprocess.run(
        [sys.executable, "-c", _TRACED, *command], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    files = done.stdout.partition("FILES\n")[2].split()
    assert (tmp_path / "small.jsonl").exists()
    assert 50 < len(files) <= MOST, files
