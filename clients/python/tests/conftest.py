"""A real server for the tests: `$HAVERSACK_BIN serve`, on a free port, with a fresh folder."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from haversack import AsyncHaversack, AsyncWorkspace, Haversack, Workspace


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    url: str
    binary: str
    data: Path

    def key(self, *arguments: str) -> str:
        """Makes a key, as `haversack key create` does."""
        command = [self.binary, "key", "create", "--data", str(self.data), *arguments]
        made = subprocess.run(command, check=True, capture_output=True, text=True)
        return made.stdout.strip()


def started(data: Path, **environment: str) -> Iterator[Server]:
    """Starts a server and stops it at the end."""
    binary = os.environ.get("HAVERSACK_BIN")
    if not binary:
        pytest.exit("set HAVERSACK_BIN to the haversack program", returncode=2)
    process = subprocess.Popen(
        [binary, "serve", "--listen", "127.0.0.1:0", "--data", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line, f"the server said {line!r}"
        yield Server("http://" + line.split("http://")[1].strip(), binary, data)
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that asks nobody for a key."""
    yield from started(tmp_path_factory.mktemp("open"))


@pytest.fixture(scope="session")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that asks for keys."""
    yield from started(tmp_path_factory.mktemp("locked"), HAVERSACK_SERVER_AUTH="keys")


class Blocking:
    """An asynchronous client with the manners of a synchronous one, so that one test tries both."""

    def __init__(self, runner: asyncio.Runner, inner: object) -> None:
        self._runner, self._inner = runner, inner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **named: Any) -> Any:
            return self._done(value(*arguments, **named))

        return call

    def _done(self, made: Any) -> Any:
        if inspect.iscoroutine(made):
            return self._runner.run(made)
        if inspect.isasyncgen(made):
            return self._each(made)
        if isinstance(made, AsyncWorkspace):
            return Blocking(self._runner, made)
        return made

    def _each(self, made: Any) -> Iterator[Any]:
        while True:
            try:
                yield self._runner.run(anext_of(made))
            except StopAsyncIteration:
                return


async def anext_of(made: Any) -> Any:
    """The next of an asynchronous iterator, as a coroutine."""
    return await made.__anext__()


Connect = Callable[..., Haversack]


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes clients, synchronous in one run of a test and asynchronous in the other."""
    if request.param == "sync":
        made: list[Haversack] = []

        def plain(*arguments: Any, **named: Any) -> Haversack:
            made.append(Haversack(*arguments, **named))
            return made[-1]

        yield plain
        for client in made:
            client.close()
        return
    with asyncio.Runner() as runner:
        opened: list[AsyncHaversack] = []

        def wrapped(*arguments: Any, **named: Any) -> Haversack:
            opened.append(AsyncHaversack(*arguments, **named))
            return cast(Haversack, Blocking(runner, opened[-1]))

        yield wrapped
        for other in opened:
            runner.run(other.aclose())


@pytest.fixture
def client(connect: Connect, server: Server) -> Haversack:
    """A client of the server that asks nobody for a key."""
    return connect(server.url, timeout=60.0)


COUNTER = itertools.count(1)


@pytest.fixture
def ws(client: Haversack) -> Workspace:
    """A workspace of its own for each test, with a few items."""
    workspace = client.workspace(f"test-{next(COUNTER)}")
    workspace.create()
    workspace.put_items(
        [
            {
                "id": "discounts",
                "kind": "note",
                "title": "Discounts",
                "body": "Mara approves every discount above ten percent. Below that, sales decide.",
                "path": "handbook/discounts.md",
            },
            {
                "id": "launch",
                "kind": "note",
                "title": "Launch",
                "body": "The launch of the new roaster is on the third of May in Lübeck.",
                "path": "handbook/launch.md",
            },
            {
                "id": "salaries",
                "kind": "note",
                "title": "Salaries",
                "body": "Salaries and discounts for staff are decided by Jonas.",
                "readers": ["user:jonas", "group:board"],
            },
        ]
    )
    return workspace
