#!/usr/bin/env python3
"""Measures what many workspaces cost a server on this machine: memory, threads, file descriptors, waiting.

    python3 tools/load/workspaces.py BINARY [--workspaces 10000] [--items 100] [--active 200] [--seconds 60]

The workspaces are copies of one, made while the server is stopped. Then clients ask for packs and searches of
the active ones and write to them; one request in fifty goes to any of the others, which is most likely closed.
At the end a workspace of 10,000 items is opened again and again. Everything happens on the loopback address and
in a temporary folder, with about half a megabyte of disk for each workspace.
"""
import argparse
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

WORDS = ("harbour lantern copper meadow violin glacier pepper saddle orchard thunder compass velvet anchor "
         "saffron bridge candle forest marble falcon ribbon garden timber pebble canyon mirror").split()


class Server:
    """A `haversack serve` of its own."""

    def __init__(self, binary, folder, settings):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HAVERSACK_")}
        environment.update(settings, HAVERSACK_LOG_LEVEL="warn")
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data", folder]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.process.stdout.readline()
        self.address = re.search(r"http://(\S+)", line).group(1)

    def status(self, name):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(rf"^{name}:\s+(\d+)", status.read(), re.MULTILINE).group(1))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self):
        return http.client.HTTPConnection(self.address, timeout=60)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=120)


def ask(connection, method, path, body=None, media_type="application/json"):
    """The status and body of an answer, and the milliseconds that it took."""
    start = time.perf_counter()
    connection.request(method, path, body=body, headers={"content-type": media_type} if body else {})
    answer = connection.getresponse()
    text = answer.read()
    return answer.status, text, (time.perf_counter() - start) * 1e3


def must(connection, *request, **options):
    status, text, took = ask(connection, *request, **options)
    if status >= 400:
        sys.exit(f"{request[:2]}: {status} {text[:400]!r}")
    return json.loads(text) if text else None, took


def sentence(chosen):
    return " ".join(chosen.choice(WORDS) for _ in range(20)) + "."


def items(count, chosen, prefix="i"):
    line = lambda n, text: json.dumps({"id": f"{prefix}{n}", "kind": "memory", "body": text,
                                       "fields": {"content": text, "type": "fact"}})
    return "\n".join(line(n, sentence(chosen)) for n in range(count)) + "\n"


def fill(server, name, count, chosen):
    connection = server.connect()
    must(connection, "POST", "/v1/workspaces", json.dumps({"name": name}))
    must(connection, "POST", f"/v1/workspaces/{name}/items", items(count, chosen),
         media_type="application/x-ndjson")


class Watcher(threading.Thread):
    """Notes the most memory, threads, descriptors and open workspaces of a server."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.ended = server, threading.Event()
        self.rss = self.anonymous = self.threads = self.descriptors = 0

    def look(self):
        self.rss = max(self.rss, self.server.status("VmRSS"))
        self.anonymous = max(self.anonymous, self.server.status("RssAnon"))
        self.threads = max(self.threads, self.server.status("Threads"))
        self.descriptors = max(self.descriptors, self.server.descriptors())

    def run(self):
        while not self.ended.wait(0.2):
            self.look()

    def figures(self):
        return (f"RSS {self.rss / 1024:.0f} MiB (own {self.anonymous / 1024:.0f} MiB), {self.threads} threads, "
                f"{self.descriptors} descriptors")


class Client(threading.Thread):
    """Asks one thing after another until it is told to stop."""

    def __init__(self, server, number, arguments, until):
        super().__init__(daemon=True)
        self.server, self.arguments, self.until = server, arguments, until
        self.chosen = random.Random(number)
        self.took = {"pack": [], "search": [], "write": [], "any other": []}
        self.failed = {}

    def run(self):
        connection, chosen = self.server.connect(), self.chosen
        number = 0
        while time.monotonic() < self.until:
            number += 1
            if chosen.random() < 0.02:
                kind, name = "any other", f"w{chosen.randrange(self.arguments.workspaces)}"
            else:
                kind = chosen.choices(("pack", "search", "write"), (6, 3, 1))[0]
                name = f"w{chosen.randrange(self.arguments.active)}"
            path, question = f"/v1/workspaces/{name}", " ".join(chosen.sample(WORDS, 4))
            if kind == "write":
                body, media_type = items(1, chosen, f"{self.name}-{number}-"), "application/x-ndjson"
                status, text, took = ask(connection, "POST", f"{path}/items", body, media_type)
            elif kind == "search":
                status, text, took = ask(connection, "POST", f"{path}/search", json.dumps({"query": question}))
            else:
                status, text, took = ask(connection, "POST", f"{path}/context/memory",
                                         json.dumps({"query": question}))
            if status >= 400:
                self.failed[(status, text[:200])] = self.failed.get((status, text[:200]), 0) + 1
            else:
                self.took[kind].append(took)


def report(clients, seconds):
    print("| request | count | p50 / p95 / p99 / most, ms |\n| --- | --- | --- |")
    total = 0
    for kind in clients[0].took:
        took = sorted(sum((client.took[kind] for client in clients), []))
        total += len(took)
        if len(took) > 1:
            at = lambda share: took[min(len(took) - 1, int(len(took) * share))]
            print(f"| {kind} | {len(took):,} | {at(.5):.1f} / {at(.95):.1f} / {at(.99):.1f} / {took[-1]:.1f} |")
    print(f"\n{total / seconds:,.0f} requests/s")
    for client in clients:
        for (status, text), count in client.failed.items():
            print(f"failed: {count} x {status} {text!r}")


def cold_opens(server, arguments):
    """How long a request takes to a workspace of 10,000 items that has to be opened for it."""
    connection, chosen = server.connect(), random.Random(3)
    fill(server, "large", 10_000, chosen)
    cold, warm = [], []
    for _ in range(10):
        for n in chosen.sample(range(arguments.workspaces), min(arguments.workspaces, 400)):
            must(connection, "GET", f"/v1/workspaces/w{n}")
        cold.append(must(connection, "GET", "/v1/workspaces/large")[1])
        warm.append(must(connection, "GET", "/v1/workspaces/large")[1])
    print(f"\nfirst request to 10,000 items when closed: {statistics.median(cold):.1f} ms, at most {max(cold):.1f}; "
          f"when open {statistics.median(warm):.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--workspaces", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--active", type=int, default=200)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--open", type=int, help="limits.open_workspaces")
    parser.add_argument("--folder", help="where the temporary folder is made")
    arguments = parser.parse_args()
    settings = {"HAVERSACK_LIMITS_OPEN_WORKSPACES": str(arguments.open)} if arguments.open else {}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        server = Server(arguments.binary, folder, settings)
        fill(server, "w0", arguments.items, random.Random(1))
        server.stop()
        workspaces = os.path.join(folder, "workspaces")
        for n in range(1, arguments.workspaces):
            shutil.copytree(os.path.join(workspaces, "w0"), os.path.join(workspaces, f"w{n}"))
        server = Server(arguments.binary, folder, settings)
        watcher = Watcher(server)
        watcher.look()
        print(f"started: {watcher.figures()}", flush=True)
        watcher.start()
        connection = server.connect()
        start = time.monotonic()
        for n in range(arguments.workspaces):
            must(connection, "GET", f"/v1/workspaces/w{n}")
        took = (time.monotonic() - start) * 1e3 / arguments.workspaces
        print(f"all {arguments.workspaces:,} asked for once, {took:.1f} ms each: {watcher.figures()}\n", flush=True)
        until = time.monotonic() + arguments.seconds
        clients = [Client(server, n, arguments, until) for n in range(arguments.clients)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        report(clients, arguments.seconds)
        print(f"{arguments.active} active of {arguments.workspaces:,}: {watcher.figures()}", flush=True)
        cold_opens(server, arguments)
        print(f"at the end: {watcher.figures()}")
        watcher.ended.set()
        watcher.join()
        server.stop()


main()
