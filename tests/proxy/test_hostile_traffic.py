"""What no client sends, and no API answers: nothing of it is in the way, fills the memory, or is told elsewhere."""

import zlib
from collections.abc import Iterator

import pytest
from build import user

from condense_cli.money.economics import Accounting
from condense_cli.proxy import forwarding
from condense_cli.proxy.forwarding import UsageReader
from condense_cli.storage.files import zstd

from .talks import further, post, work
from .upstream import TOKEN, Api, Running, api, ask, get, proxied, said

LINE = b'data: {"usage": {"input_tokens": 7}}\n'


@pytest.fixture
def model() -> Iterator[Api]:
    with api(lambda _: said({"usage": {"input_tokens": 9, "output_tokens": 3}})) as found:
        yield found


# JSON that one parser takes and another one does not goes on to the API, which may say what it thinks of it.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "content",
    [
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b"9" * 5_000,
        b"1e999",
        b"NaN",
        b'"\\ud800"',
        b"[" * 900 + b"]" * 900,
        b'{"a": {}}',
        b'[{"type": ["text"], "text": "x"}]',
        b'[{"type": {}, "text": "x"}]',
        b'[{"text": "x"}]',
    ],
    ids=[
        "no-utf8",
        "surrogate",
        "digits",
        "infinite",
        "nan",
        "half",
        "deep",
        "object",
        "list-type",
        "map-type",
        "none",
    ],
)
def test_messages_that_cannot_be_read_pass(model: Api, running: Running, content: bytes) -> None:
    body = b'{"model":"m","messages":[{"role":"user","content":%s}]}' % content
    for _ in range(2):
        assert ask(f"{running.url}/v1/messages", content=body).status_code == 200
        assert model.asked[-1].body == body
    assert post(running, work()).status_code == 200


def test_those_of_a_conversation_that_went_well_before_pass_as_well(model: Api, running: Running) -> None:
    post(running, work())
    post(running, further(work()))
    broken = [*further(work()), user("x" * 90)]
    post(running, broken)
    body = model.asked[-1].body.replace(b"x" * 90, b"\xff" * 90)
    assert ask(f"{running.url}/v1/messages", content=body).status_code == 200
    assert model.asked[-1].body == body


# A few kilobytes that unpack to gigabytes.
@pytest.mark.sampled(1)
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_an_answer_that_unpacks_to_too_much_reports_nothing(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "_LONGEST", 100_000)

    def packed(data: bytes) -> bytes:
        if encoding == "zstd":
            return bytes(zstd().compress(data))
        packer = zlib.compressobj(wbits={"gzip": 31, "deflate": 15}[encoding])
        return packer.compress(data) + packer.flush()

    for lines, tokens in ((1_000, 7), (1_000_000, None)):
        reader = UsageReader("text/event-stream", encoding)
        reader.feed(packed(LINE * lines))
        reader.end()
        usage = reader.usage(Accounting.ANTHROPIC)
        assert (usage and usage.input_tokens) == tokens


@pytest.mark.parametrize(("more", "tokens"), [(0, 7), (-1, None)])
def test_the_longest_answer_is_read(more: int, tokens: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = LINE.removeprefix(b"data: ")
    monkeypatch.setattr(forwarding, "_LONGEST", len(answer) + more)
    reader = UsageReader("application/json", "")
    reader.feed(answer)
    reader.end()
    usage = reader.usage(Accounting.ANTHROPIC)
    assert (usage and usage.input_tokens) == tokens


# A page in a browser on this machine may be led here by its own name.
@pytest.mark.parametrize(
    ("host", "status"), [("evil.example", 403), ("evil.example:1", 403), ("localhost:9", 200), ("[::1]", 200)]
)
def test_rows_are_for_who_asks_by_the_name_of_this_machine(
    running: Running, model: Api, host: str, status: int
) -> None:
    answer = ask(f"{running.url}/v1/compress", json={"messages": [user("Hi.")]}, headers={"Host": host})
    assert (answer.status_code, model.asked) == (status, [])


def test_rows_are_for_anybody_where_others_may_ask(model: Api) -> None:
    with proxied(model.url, is_local=False) as running:
        answer = ask(f"{running.url}/v1/compress", json={"messages": [user("Hi.")]}, headers={"Host": "gateway.lan"})
        assert answer.status_code == 200


# What went wrong may quote what was said.
@pytest.mark.parametrize(
    "place", ["condense_cli.live.conversation.Live.fit", "condense_cli.live.deciding.Decider.decided"]
)
def test_a_fault_is_told_by_its_kind(
    model: Api, running: Running, monkeypatch: pytest.MonkeyPatch, place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("Please find the bug: and the secret")

    monkeypatch.setattr(place, fail)
    assert post(running, work()).status_code == 200
    page = get(f"{running.url}/condense", params={"token": TOKEN}).text
    assert "ValueError" in page
    assert "secret" not in page + "".join(capfd.readouterr())
