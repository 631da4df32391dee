"""What the proxy adds to a request: `python benchmarks/proxy_speed.py [--megabytes 1]`.

A conversation of 1,000 messages is sent again and again, each time two messages longer, to a server on the loopback
interface: directly, and through the proxy, in turns. Nothing is to be decided. The table shows milliseconds from the
first byte sent to the last one received: the median and the slowest of twenty of each, and what the proxy adds. One
conversation is sent as it came, the other with a frozen part in place of its first half.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from condense_cli.live.state import Memory
from condense_cli.proxy.app import Proxy
from condense_cli.proxy.record import Record
from condense_cli.proxy.server import address_of, listening, names_of, served
from condense_cli.proxy.settings import Settings

MESSAGES = 1_000
TIMES = 20


class Silent(BaseHTTPRequestHandler):
    """An API that reads what it is sent and says next to nothing."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response_only(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


def conversation(size: int, number: int = MESSAGES) -> list[Any]:
    """Messages of about so many bytes together, one call and its result after the other."""
    text = "\n".join(f"{n}: the value of item {n} is {n * n}" for n in range(1 + 2 * size // number // 36))
    found: list[Any] = [{"role": "user", "content": "Please look at everything."}]
    for n in range(number // 2):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {"file_path": f"src/{n}.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"file {n}\n{text}"}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return found


def milliseconds(url: str, body: bytes) -> float:
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    connection.connect()
    start = time.perf_counter()
    connection.request("POST", "/v1/messages", body, {"content-type": "application/json"})
    connection.getresponse().read()
    took = time.perf_counter() - start
    connection.close()
    return 1000 * took


def body_of(messages: list[Any]) -> bytes:
    return json.dumps({"model": "claude-opus-4-6", "messages": messages, "max_tokens": 9}).encode()


def measured(upstream: str, policy: str, messages: list[Any]) -> tuple[list[float], list[float]]:
    """Times without and with the proxy."""
    listener = listening("127.0.0.1", 0)
    address = address_of(listener, "127.0.0.1")
    settings = Settings("", names_of(address), upstream, preset="speed", policy=policy, patience=60.0)
    proxy = Proxy(settings, Memory(), Record())
    direct, through = [], []
    with served(proxy, listener):
        for length in (len(messages) // 2, len(messages) - 2 * TIMES):
            milliseconds(address, body_of(messages[: length + 1]))
        for n in range(TIMES):
            body = body_of(messages[: len(messages) - 2 * (TIMES - n) + 2])
            direct.append(milliseconds(upstream, body))
            through.append(milliseconds(address, body))
    return direct, through


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=1.0)
    messages = conversation(int(1e6 * parser.parse_args().megabytes))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    upstream = f"http://127.0.0.1:{server.server_port}"
    print(f"{len(messages):,} messages, {len(body_of(messages)):,} bytes")
    print("conversation   direct ms  slowest  proxy ms  slowest  adds ms")
    for name, policy in (("as it came", "tokens:100000000"), ("half is frozen", "tokens:100000")):
        direct, through = measured(upstream, policy, messages)
        added = statistics.median(through) - statistics.median(direct)
        print(
            f"{name:14} {statistics.median(direct):9.1f} {max(direct):8.1f} {statistics.median(through):9.1f} "
            f"{max(through):8.1f} {added:8.1f}"
        )
    server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
