"""The folders of this user: those that `platformdirs` names, mostly without asking it."""

import subprocess
import sys

import platformdirs
import pytest

from condense_cli.core.user_folders import cache_folder, config_folder


@pytest.mark.parametrize("home", ["/home/somebody", "relative", "", None])
@pytest.mark.parametrize("given", ["/elsewhere", "relative", " ", "", None])
def test_they_are_those_of_platformdirs(monkeypatch: pytest.MonkeyPatch, home: str | None, given: str | None) -> None:
    for name, value in (("HOME", home), ("XDG_CONFIG_HOME", given), ("XDG_CACHE_HOME", given)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert config_folder() == platformdirs.user_config_dir("condense", appauthor=False)
    assert cache_folder() == platformdirs.user_cache_dir("condense", appauthor=False)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only platformdirs knows")
def test_on_linux_it_is_not_imported() -> None:
    told = "import sys; from condense_cli.core.user_folders import cache_folder; cache_folder(); "
    told += "print('platformdirs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout == "False\n"
