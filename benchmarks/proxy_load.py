"""Send many conversations through one proxy: `python benchmarks/proxy_load.py [--conversations 50] [--requests 10000]`.

Each conversation is a task that sends its messages, two more per request, through `condense proxy` to a local server;
all run at once without pause. Every line names its conversation. The server checks that all lines of a request name the
one in its header, and that content frozen in the previous request is still there. Prints time, mix-ups and losses,
decisions, and the proxy's memory. Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import httpx
import uvicorn
from proxy_speed import proxy
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=50)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return 0
    import socket

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
        asyncio.run(load(upstream, options.conversations, options.requests))
    finally:
        server.terminate()
        server.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
