"""Measure the time a proxy adds to requests without decisions: `python benchmarks/proxy_speed.py [--megabytes 1]`.

A conversation of 1,000 messages is sent repeatedly, each time two messages longer, to a local server: directly and
through `condense proxy` in a separate process, in turns; once unchanged and once with nearly all of it frozen. Prints
medians in milliseconds from the first byte sent to the last one received, the proxy's share, and its processor time per
request, which does not depend on other load. Linux.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
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
from typing import Any
from urllib.parse import urlsplit

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=1.0)
    messages = conversation(int(1e6 * parser.parse_args().megabytes))
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
