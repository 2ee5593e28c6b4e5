"""Keys, viewers, errors and retries."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest
from conftest import Connect, Server, started

import haversack
import make_sync
from haversack import Haversack, Workspace, _wire, errors


def test_a_key_reaches_as_far_as_it_says(connect: Connect, locked: Server) -> None:
    admin = connect(locked.url, locked.key("admin", "--scope", "admin"))
    with pytest.raises(haversack.Conflict) if _exists(admin) else _nothing():
        admin.create_workspace("acme")
    with pytest.raises(haversack.Unauthenticated) as nobody:
        connect(locked.url).list_workspaces()
    assert (nobody.value.code, nobody.value.status) == ("unauthenticated", 401)
    assert nobody.value.request_id
    reader = connect(locked.url, locked.key("reader"))
    assert reader.list_workspaces() == {"workspaces": [{"name": "acme"}]}
    with pytest.raises(haversack.Forbidden):
        reader.metrics()
    with pytest.raises(haversack.Forbidden):
        reader.workspace("acme").put_items([{"id": "a", "kind": "note"}])
    bound = connect(locked.url, locked.key("bound", "--user", "anna"), user="ben")
    with pytest.raises(haversack.Forbidden):
        bound.workspace("acme").get()
    elsewhere = connect(locked.url, locked.key("elsewhere", "--for", "umbrella"))
    with pytest.raises(haversack.NotFound):
        elsewhere.workspace("acme").get()


def _exists(client: Haversack) -> bool:
    return {"name": "acme"} in client.list_workspaces()["workspaces"]


class _nothing:  # noqa: N801
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def test_a_viewer_sees_what_they_may_read(client: Haversack, ws: Workspace) -> None:
    assert ws.get()["items"] == 3
    assert ws.as_user("anna").get()["items"] == 2
    assert ws.as_user("jonas").get()["items"] == 3
    assert ws.as_user("anna", ["board"]).get()["items"] == 3
    board = client.workspace(ws.name, groups=["board"])
    assert board.get_item("salaries")["title"] == "Salaries"
    with pytest.raises(haversack.NotFound):
        ws.as_user("anna").get_item("salaries")
    assert "Jonas" not in ws.as_user("anna").pack("who decides about salaries?")["context"]
    assert "Jonas" in ws.pack("who decides about salaries?", user="jonas")["context"]


def test_every_name_arrives_as_what_it_is(client: Haversack, ws: Workspace) -> None:
    names = ["anna", "%61nna", "50%", "jürgen", "a,b", "a b", "日本"]
    readers = [[f"user:{name}"] for name in names] + [[f"group:{name}"] for name in names]
    ws.put_items(
        [
            {"id": f"for-{n}", "kind": "note", "body": "x", "readers": allowed}
            for n, allowed in enumerate(readers)
        ]
    )
    everyones = {"discounts", "launch"}

    def seen(viewer: Workspace) -> set[str]:
        return {item["id"] for item in viewer.items()} - everyones

    for n, name in enumerate(names):
        assert seen(ws.as_user(name)) == {f"for-{n}"}, name
        assert seen(client.workspace(ws.name, user=name)) == {f"for-{n}"}, name
        groups = ["other", name]
        assert seen(ws.as_user(None, groups)) == {f"for-{n + len(names)}"}, name
    with pytest.raises(haversack.NotFound):
        ws.as_user("%61nna").get_item("for-0")
    for user in ("", None):
        with pytest.raises(ValueError, match="name"):
            ws.as_user(user)
    with pytest.raises(ValueError, match="not a name"):
        ws.as_user("anna", [""])


def test_nobody_sees_everything_by_mistake(connect: Connect, server: Server, ws: Workspace) -> None:
    annas = connect(server.url, user="anna", groups=["board"])
    assert annas.workspace(ws.name).get()["items"] == 3
    assert annas.workspace(ws.name, groups=[]).get()["items"] == 2
    assert annas.workspace(ws.name, groups=["sales"]).get()["items"] == 2
    assert annas.workspace(ws.name, user="ben").get()["items"] == 2, "her groups are not his"
    assert annas.workspace(ws.name, groups=[]).as_owner().get()["items"] == 3
    board = connect(server.url, groups=["board"])
    for asked in (board, connect(server.url)):
        with pytest.raises(ValueError, match="as_owner"):
            asked.workspace(ws.name, groups=[])
    with pytest.raises(ValueError, match="as_owner"):
        ws.as_user(None)


def test_errors_name_the_field(ws: Workspace) -> None:
    with pytest.raises(haversack.ValidationError) as wrong:
        ws.put_items([{"id": "ok", "kind": "note"}, {"id": "bad", "kind": ""}])
    assert (wrong.value.code, wrong.value.field) == ("validation_error", "[1].kind")
    assert "kind" in str(wrong.value)
    with pytest.raises(haversack.NotFound):
        ws.get_item("ok")
    with pytest.raises(haversack.ValidationError) as wrong:
        ws.search("x", limit=100_000)
    assert wrong.value.field == "limit"
    with pytest.raises(haversack.NotFound) as missing:
        ws.pack("x", recipe="nowhere")
    assert missing.value.code == "recipe_not_found"


def test_an_idempotency_key_gives_the_same_answer_again(ws: Workspace) -> None:
    item: haversack.types.NewItem = {"id": "once", "kind": "note", "body": "once"}
    first = ws.put_items([item], idempotency_key=f"{ws.name}-1")
    assert ws.put_items([item], idempotency_key=f"{ws.name}-1") == first
    with pytest.raises(haversack.Conflict) as conflict:
        ws.put_items([{**item, "body": "twice"}], idempotency_key=f"{ws.name}-1")
    assert conflict.value.code == "idempotency_conflict"


def test_a_server_that_is_not_there_is_unreachable(connect: Connect) -> None:
    with pytest.raises(haversack.Unreachable) as nobody:
        connect("http://127.0.0.1:9").livez()
    assert (nobody.value.status, nobody.value.code) == (0, "unreachable")


def test_every_code_of_the_server_has_its_class(client: Haversack) -> None:
    answers = client.openapi()["components"]["responses"].values()
    codes = {
        code
        for answer in answers
        for content in answer["content"].values()
        for code in content["examples"]
    }
    plain = {"method_not_allowed", "wrong_host", "internal"}
    assert codes - plain == set(errors.BY_CODE)


class Stub(BaseHTTPRequestHandler):
    """Refuses as often as it is told, then answers."""

    refusals: list[tuple[int, str | None]] = []
    seen = 0

    def _answer(self) -> None:
        type(self).seen += 1
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, wait = self.refusals.pop(0) if self.refusals else (200, None)
        code = {429: "rate_limited", 503: "overloaded", 500: "internal"}.get(status)
        body = json.dumps({"status": "ok"} if code is None else {"code": code, "detail": "busy"})
        self.send_response(status)
        if wait is not None:
            self.send_header("Retry-After", wait)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_POST = do_PUT = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server of which only the refusals matter. Waits are made short."""
    Stub.refusals, Stub.seen = [], 0
    monkeypatch.setattr("random.uniform", lambda low, high: 0.0)
    served = HTTPServer(("127.0.0.1", 0), Stub)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}"
    served.shutdown()
    served.server_close()


def test_what_can_be_repeated_is_after_the_wait(connect: Connect, stub: str) -> None:
    Stub.refusals = [(429, "0"), (503, None)]
    assert connect(stub).livez() == {"status": "ok"}
    assert Stub.seen == 3
    Stub.refusals = [(503, "0")]
    connect(stub).workspace("acme").build_any("memory", {"query": "x"})
    assert Stub.seen == 5
    Stub.refusals = [(429, "0")]
    connect(stub).workspace("acme").put_items([], idempotency_key="once")
    assert Stub.seen == 7
    Stub.refusals = [(503, "0")]
    with pytest.raises(haversack.Unreachable, match="without a result"):
        list(connect(stub).workspace("acme").stream_context("x"))
    assert Stub.seen == 9


def test_what_cannot_be_repeated_is_not(connect: Connect, stub: str) -> None:
    Stub.refusals = [(503, "0"), (500, None), (429, "0"), (429, "0"), (429, "0"), (429, "3600")]
    with pytest.raises(haversack.Overloaded):
        connect(stub).workspace("acme").put_items([])
    with pytest.raises(haversack.HaversackError) as failed:
        connect(stub).livez()
    assert (failed.value.code, Stub.seen) == ("internal", 2)
    with pytest.raises(haversack.RateLimited):
        connect(stub, retries=2).livez()
    assert Stub.seen == 5
    with pytest.raises(haversack.RateLimited) as later:
        connect(stub).livez()
    assert (later.value.retry_after, Stub.seen) == (3600.0, 6)


def test_waits_grow_and_heed_the_server() -> None:
    assert all(0.0 <= (_wire.wait_seconds(n, None) or 0.0) <= 0.25 * 2**n for n in range(6))
    assert 2.0 <= (_wire.wait_seconds(0, 2.0) or 0.0) <= 2.25
    assert _wire.wait_seconds(0, 31.0) is None
    assert (_wire.seconds("x"), _wire.seconds(None), _wire.seconds("-1")) == (None, None, 0.0)


def test_answers_of_others_are_told_from_the_servers() -> None:
    error = _wire.failure(502, b"<html>", {})
    assert (error.code, error.status) == ("http_502", 502)
    assert isinstance(_wire.failure(429, b"[]", {"retry-after": "5"}), haversack.RateLimited)


def test_a_given_connection_pool_stays_open(server: Server) -> None:
    with httpx.Client() as http:
        with Haversack(server.url, http=http) as client:
            client.livez()
        assert not http.is_closed


def test_the_synchronous_client_is_made_from_the_asynchronous_one() -> None:
    source = Path(haversack.__file__).parent
    made = make_sync.sync((source / "_async.py").read_text(encoding="utf-8"))
    assert made == (source / "_sync.py").read_text(encoding="utf-8"), "run python make_sync.py"


def test_a_rate_is_kept_and_told(
    connect: Connect, tmp_path_factory: pytest.TempPathFactory
) -> None:
    limits = {"HAVERSACK_LIMITS_RATE": "0.001", "HAVERSACK_LIMITS_BURST": "1"}
    for limited in started(tmp_path_factory.mktemp("limited"), **limits):
        client = connect(limited.url)
        client.list_workspaces()
        with pytest.raises(haversack.RateLimited) as busy:
            client.list_workspaces()
        assert busy.value.retry_after == 1000.0
        assert client.livez() == {"status": "ok"}
