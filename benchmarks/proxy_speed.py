"""Measure the time a proxy adds to requests, and send many conversations through one.

    python benchmarks/proxy_speed.py [--megabytes 1]
    python benchmarks/proxy_speed.py --load [--conversations 50] [--requests 10000]

A conversation of 1,000 messages is sent repeatedly, each time two messages longer, to a local server: directly and
through `condense proxy` in a separate process, in turns; once unchanged and once with nearly all of it frozen. Prints
medians in milliseconds from the first byte sent to the last one received, the proxy's share, and its processor time per
request, which does not depend on other load.

With `--load`, each conversation is a task that sends its messages, two more per request; all run at once without pause.
Every line names its conversation. The server checks that all lines of a request name the one in its header, and that
content frozen in the previous request is still there. Prints time, mix-ups and losses, decisions, and the proxy's
memory. Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

MESSAGES = 1_000
TIMES = 30
POLICIES = {"as it came": "tokens:100000000", "nearly all is frozen": "tokens:100000"}


class Silent(BaseHTTPRequestHandler):
    """An API that reads requests and answers next to nothing."""

    disable_nagle_algorithm = True  # Avoids waiting for an acknowledgement between head and body.

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response_only(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def conversation(size: int, number: int = MESSAGES) -> list[Any]:
    """Make messages of about `size` bytes together, alternating calls and results."""
    text = "\n".join(f"{n}: the value of item {n} is {n * n}" for n in range(1 + 2 * size // number // 36))
    found: list[Any] = [{"role": "user", "content": "Please look at everything."}]
    for n in range(number // 2):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"file_path": f"src/{n}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"file {n}\n{text}"}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return found


def body_of(messages: list[Any]) -> bytes:
    return json.dumps({"model": "claude-opus-4-6", "messages": messages, "max_tokens": 9}).encode()


@contextmanager
def proxy(upstream: str, *options: str) -> Iterator[tuple[int, str]]:
    """Start a proxy; yield its process id and address."""
    with tempfile.TemporaryDirectory() as folder:
        state = str(Path(folder) / "live.db")
        command = [
            sys.executable,
            "-m",
            "condense_cli",
            "proxy",
            "--port",
            "0",
            "--upstream",
            upstream,
            "--state",
            state,
        ]
        process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        address = re.findall(r"http://[\d.]+:\d+", process.stderr.readline())[0]
        drain = threading.Thread(target=process.stderr.read, daemon=True)
        drain.start()
        try:
            yield process.pid, address
        finally:
            process.terminate()
            process.wait()


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def milliseconds(url: str, body: bytes) -> float:
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    connection.connect()
    start = time.perf_counter()
    connection.request("POST", "/v1/messages", body, {"content-type": "application/json"})
    connection.getresponse().read()
    took = time.perf_counter() - start
    connection.close()
    return 1_000 * took


def compare(megabytes: float) -> None:
    messages = conversation(int(1e6 * megabytes))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    upstream = f"http://127.0.0.1:{server.server_port}"
    bodies = [body_of(messages[: len(messages) - 2 * (TIMES - n)]) for n in range(TIMES)]
    print(f"{len(messages):,} messages, {len(bodies[-1]):,} bytes; milliseconds")
    print("conversation          direct  through  adds  processor")
    for name, policy in POLICIES.items():
        with proxy(upstream, "--policy", policy, "--preset", "speed") as (process, address):
            for _ in range(3):  # Let all decisions be made first.
                milliseconds(address, bodies[0])
                time.sleep(3)
            direct, through = [], []
            before = processor_seconds(process)
            for body in bodies:
                direct.append(milliseconds(upstream, body))
                through.append(milliseconds(address, body))
            each = 1_000 * (processor_seconds(process) - before) / len(bodies)
        one, other = statistics.median(direct), statistics.median(through)
        print(f"{name:20} {one:7.1f} {other:8.1f} {other - one:5.1f} {each:10.1f}")
    server.shutdown()


LINES: Final = 20
_NAME: Final = re.compile(rb"<(\d+)>")
_MARKS: Final = re.compile(rb',"cache_control":\{[^{}]*\}')


class Server:
    """An API that checks its requests."""

    def __init__(self) -> None:
        self.asked = self.mixed_up = self.rewritten = self.lost = 0
        self._last: dict[int, tuple[list[bytes], int]] = {}
        """Per conversation: digests of the last messages, without marks, and the number of frozen ones."""

    async def answer(self, request: Request) -> JSONResponse:
        body = await request.body()
        number = int(request.headers["x-conversation"])
        self.asked += 1
        self.mixed_up += set(map(int, _NAME.findall(body))) != {number}
        texts = _messages(body)
        # The client sets no marks, so the last one is at the end of the frozen part.
        frozen = max((end for end, text in enumerate(texts, start=1) if b'"cache_control"' in text), default=0)
        messages = [hashlib.blake2b(_MARKS.sub(b"", text)).digest() for text in texts]
        before, end = self._last.get(number, ([], 0))
        self.rewritten += messages[: len(before)] != before
        self.lost += messages[:end] != before[:end]
        self._last[number] = messages, frozen
        usage = {"input_tokens": 10, "cache_read_input_tokens": len(body) // 4, "output_tokens": 9}
        return JSONResponse({"conversation": number, "usage": usage})

    async def figures(self, request: Request) -> JSONResponse:
        return JSONResponse({key: value for key, value in vars(self).items() if not key.startswith("_")})


def _messages(body: bytes) -> list[bytes]:
    return [json.dumps(each, separators=(",", ":")).encode() for each in json.loads(body)["messages"]]


def serve(port: int) -> None:
    server = Server()
    routes = [Route("/v1/messages", server.answer, methods=["POST"]), Route("/figures", server.figures)]
    uvicorn.run(Starlette(routes=routes), port=port, log_level="critical", access_log=False)


def exchange(number: int, turn: int) -> list[Any]:
    """Return a call and its result, with the conversation's name on each line."""
    text = "".join(f"<{number}> turn {turn} line {line}: {(line * turn * 7919) % 9973}\n" for line in range(LINES))
    call = {"type": "tool_use", "id": f"t{turn}", "name": "Read", "input": {"file_path": f"<{number}>/{turn}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": text}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


async def converse(client: httpx.AsyncClient, url: str, number: int, requests: int, wrong: list[str]) -> None:
    pieces = [json.dumps({"role": "user", "content": f"<{number}> Please look at everything."})]
    headers = {"x-conversation": str(number), "session-id": f"session {number}"}
    for turn in range(1, requests + 1):
        body = f'{{"model": "claude-opus-4-6", "max_tokens": 9, "messages": [{", ".join(pieces)}]}}'
        answer = await client.post(f"{url}/v1/messages", content=body.encode(), headers=headers)
        if answer.status_code != 200 or answer.json()["conversation"] != number:
            wrong.append(f"{number}.{turn}: {answer.status_code} {answer.text}")
        pieces += map(json.dumps, exchange(number, turn))


def megabytes(process: int, key: str = "VmRSS") -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(rf"{key}:\s+(\d+)", status)[0]) / 1024


async def load(upstream: str, conversations: int, requests: int) -> None:
    wrong: list[str] = []
    limits = httpx.Limits(max_connections=None)
    with proxy(upstream, "--policy", "tokens:20000", "--preset", "speed") as (process, url):
        async with httpx.AsyncClient(timeout=None, limits=limits, trust_env=False) as client:
            memory = [megabytes(process)]
            start = time.perf_counter()
            each = requests // conversations
            tasks = [asyncio.create_task(converse(client, url, number, each, wrong)) for number in range(conversations)]
            while not all(task.done() for task in tasks):
                await asyncio.wait(tasks, timeout=10)
                memory.append(megabytes(process))
            await asyncio.gather(*tasks)
            took = time.perf_counter() - start
            figures = (await client.get(f"{upstream}/figures")).json()
            peak = megabytes(process, "VmHWM")
    print(f"{conversations} conversations at once, {figures['asked']:,} requests in {took:.0f} s")
    print(f"mixed up {figures['mixed_up']}, lost {figures['lost']}, wrong answers {len(wrong)}")
    print("".join(f"{each}\n" for each in wrong), end="")
    print(f"rewritten by decisions {figures['rewritten']:,}")
    quarters = [memory[(len(memory) - 1) * part // 4] for part in range(5)]
    print("memory of the proxy, MB: " + " ".join(f"{value:.0f}" for value in quarters) + f", at most {peak:.0f}")


def check_load(conversations: int, requests: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    server = subprocess.Popen([sys.executable, __file__, "--serve", str(port)])
    try:
        upstream = f"http://127.0.0.1:{port}"
        for _ in range(100):
            try:
                httpx.get(f"{upstream}/figures", trust_env=False)
                break
            except httpx.ConnectError:
                time.sleep(0.1)
        asyncio.run(load(upstream, conversations, requests))
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--conversations", type=int, default=50)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
    elif options.load:
        check_load(options.conversations, options.requests)
    else:
        compare(options.megabytes)


if __name__ == "__main__":
    main()
