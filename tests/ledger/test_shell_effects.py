"""Effects of command lines on files, as far as they show without running them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import HOSTILE

from condense_cli.ledger.collect import Effect, file_effects


@pytest.mark.parametrize(
    ("command", "effects"),
    [
        ("cd /w && cat a.py b.py | head -5", [Effect("read", "/w/a.py"), Effect("read", "/w/b.py")]),
        ("sed -n '1,5p' a.py", [Effect("read", "a.py")]),
        ("sed -i 's/a/b/' a.py", [Effect("edited", "a.py")]),
        ("sed -ie s/a/b/ a.py", [Effect("edited", "a.py")]),
        ("sed -n -e 5p -f more.sed a.py", [Effect("read", "a.py")]),
        ("sed -i '' s/a/b/ a.py", [Effect("edited", "a.py")]),
        ("head -n 20 a.py", [Effect("read", "a.py")]),
        ("cat -n a.py", [Effect("read", "a.py")]),
        ("Get-Content a.py -TotalCount 20", [Effect("read", "a.py")]),
        ("cat > a.py <<'EOF'\nrm b.py\nEOF\nrm c.py", [Effect("written", "a.py"), Effect("deleted", "c.py")]),
        ("make 2>/dev/null >> log.txt 2>&1", [Effect("written", "log.txt")]),
        ("git mv a.py src/", [Effect("moved", "a.py", "src/a.py")]),
        ("git rm -r --cached build", []),
        ("mv a.py b.py; git rm -f c.py", [Effect("moved", "a.py", "b.py"), Effect("deleted", "c.py")]),
        ("FOO=1 sudo rm -rf build", [Effect("deleted", "build")]),
        ("rm $FILE *.pyc", []),
        ("echo 'it''s", []),
        ("python -c 'x > 1'", []),
        ("cat <<EOF\nunfinished", []),
        ("grep x <<<word\nrm a.py", [Effect("deleted", "a.py")]),
        ("grep -n x a.py", []),
    ],
)
def test_what_a_command_line_does_to_files(command: str, effects: list[Effect]) -> None:
    assert list(file_effects(command)) == effects


@given(st.one_of(HOSTILE, st.text(alphabet="cat rm>|;&<'\"\\\n -$a.", max_size=60)))
def test_any_command_line_has_effects_on_named_files_or_none(command: str) -> None:
    for effect in file_effects(command):
        assert effect.path
        assert bool(effect.target) is (effect.kind == "moved")
