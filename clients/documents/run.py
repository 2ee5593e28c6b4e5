"""Runs five small applications against a real server.

Each was written from the design document of one application alone, by somebody who knew nothing else
of Haversack but its paths, and asserts what that document promises.

    python3 clients/documents/run.py PATH-TO-HAVERSACK [APPLICATION …]

`not_yet` of an application names the checks that are known to fail, with the reason. They are
printed. One that is named there and passes fails the run, and so does one that is not named there and
fails. Needs Python 3.11 and nothing else.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

APPLICATIONS = ["proposal", "prime", "workspace", "situation", "memory"]


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status}: {json.dumps(body)}")
        self.status, self.body = status, body


class Api:
    """One workspace of a server, over HTTP."""

    def __init__(self, base: str, workspace: str, log: Path) -> None:
        self.base, self.workspace, self._log = base, workspace, log

    def within(self, workspace: str) -> Api:
        """Another workspace, made anew."""
        self._send("POST", "/v1/workspaces", {"name": workspace}, {})
        return Api(self.base, workspace, self._log)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """The JSON that the server answers."""
        return json.loads(self._send("POST", self._path(path), body, headers))

    def put(self, path: str, body: Any) -> None:
        """Keeps something under a name."""
        self._send("PUT", self._path(path), body, {})

    def stream(self, path: str, body: Any) -> list[tuple[str, Any]]:
        """The events of a build: the name and the data of each."""
        said = self._send("POST", self._path(path), body, {"accept": "text/event-stream"})
        events = []
        for block in said.decode().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if "data" in lines:
                events.append((lines.get("event", "message"), json.loads(lines["data"])))
        return events

    def refusal(self, path: str, body: Any) -> Refused:
        """The error that a request must get."""
        try:
            said = self.post(path, body)
        except Refused as refused:
            return refused
        raise AssertionError(f"was taken: {json.dumps(said)[:300]}")

    def log(self) -> list[dict[str, Any]]:
        """The lines of the server's log that are JSON objects."""
        lines = []
        for line in self._log.read_text().splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                continue
        return [line for line in lines if isinstance(line, dict)]

    def _path(self, path: str) -> str:
        return f"/v1/workspaces/{quote(self.workspace)}/{path}"

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> bytes:
        request = urllib.request.Request(
            self.base + path,
            data=json.dumps(body).encode(),
            headers={"content-type": "application/json", **headers},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            said = error.read()
            try:
                raise Refused(error.code, json.loads(said)) from None
            except ValueError:
                raise Refused(error.code, said.decode(errors="replace")) from None


@contextmanager
def serving(binary: str) -> Iterator[tuple[str, Path]]:
    """A server with a fresh folder: its address, and the file that has its log."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data", f"{folder}/data"]
        with log.open("w") as errors:
            env = {**os.environ, "HAVERSACK_LOG_FORMAT": "json"}
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env)
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            if "http://" not in line:
                raise SystemExit(f"the server did not start: {line!r} {log.read_text()}")
            yield "http://" + line.split("http://")[1].strip(), log
        finally:
            server.terminate()
            server.wait(timeout=30)


def run_check(check: Any, state: Any) -> str | None:
    """Why a check fails, in one line; nothing when it passes."""
    try:
        check(state)
    except Exception as error:  # whatever goes wrong in an application is a failure of its check
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        said = " ".join(str(error).split()) or str(frame.line)
        return f"{place}: {type(error).__name__}: {said[:1000]}"
    return None


def run_application(name: str, module: ModuleType, api: Api) -> bool:
    """Runs the checks of one application, in their order; whether all is as it says."""
    state = module.prepare(api)
    checks = {key.removeprefix("check_"): value for key, value in vars(module).items() if key.startswith("check_")}
    good = True
    for unknown in module.not_yet.keys() - checks.keys():
        print(f"FAILED  {name}: not_yet names {unknown!r}, which is no check")
        good = False
    for key, check in checks.items():
        problem = run_check(check, state)
        reason = module.not_yet.get(key)
        if problem and reason:
            print(f"not yet {name}: {key}: {reason}")
        elif problem:
            print(f"FAILED  {name}: {key}: {problem}")
            good = False
        elif reason:
            print(f"FAILED  {name}: {key}: passes now; take it out of not_yet")
            good = False
    held = sum(key not in module.not_yet for key in checks)
    print(f"{name}: {held} of {len(checks)} checks are to hold")
    return good


def main() -> int:
    """Runs the applications that were named, or all."""
    if len(sys.argv) < 2:
        raise SystemExit("say where the haversack program is")
    names = sys.argv[2:] or APPLICATIONS
    sys.path.insert(0, str(Path(__file__).parent))
    with serving(sys.argv[1]) as (base, log):
        outer = Api(base, "", log)
        good = [run_application(name, importlib.import_module(name), outer.within(f"{name}-app")) for name in names]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
