"""The examples of docs/live.md, over a server in place of the model."""

import re
from pathlib import Path

import pytest

from .wire import DONE, TURNS, body_of, look, wire

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "live.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.partition("\n## In an agent framework")[2], re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for part in range(TURNS):
        Path(f"part{part}.py").write_text(look(part))
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    with wire() as wired:
        for api, path in (("ANTHROPIC", ""), ("OPENAI", "/v1")):
            monkeypatch.setenv(f"{api}_API_KEY", "none")
            monkeypatch.setenv(f"{api}_BASE_URL", wired.service.url + path)
        exec(code, {"__name__": "example"})
        requests = [request for request in wired.requests if "count_tokens" not in request.path]
    assert capsys.readouterr().out.strip().endswith(DONE)
    assert len(requests) == TURNS + 1
    key = "input" if "input" in requests[-1].body else "messages"
    assert "lines #" in body_of(requests[-1], key)


def test_examples_are_short() -> None:
    assert len(EXAMPLES) == 6
    for code in EXAMPLES:
        lines = [line for line in code.splitlines() if line.strip() and not re.match("(from|import) ", line)]
        assert len(lines) <= 17, code
