"""Fills the workspace `acme` with a few items, so that there is something to find.

Prints the receipts of two packs, as settings of a shell.
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any


def send(method: str, path: str, body: Any) -> Any:
    """Sends JSON and reads the answer's; one that is not good raises."""
    request = urllib.request.Request(
        os.environ["URL"] + path,
        method=method,
        data=json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['KEY']}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def main() -> None:
    """Fills the workspace."""
    send("POST", "/v1/workspaces", {"name": "acme"})
    here = "/v1/workspaces/acme"
    notes = [
        {
            "id": "n1",
            "kind": "note",
            "title": "Launch",
            "body": "The launch is on the third of May.",
        },
        {"id": "n2", "kind": "note", "title": "Discounts", "body": "Mara approves discounts."},
        {"id": "opp-1", "kind": "opportunity", "fields": {"name": "Harrow Hospitals"}},
        {"id": "thread-1", "kind": "thread", "title": "Login page"},
        {"id": "deploy", "kind": "context", "fields": {"metadata": {"name": "Deploy"}}},
    ]
    send("POST", f"{here}/items", notes)
    send("POST", f"{here}/memories", {"memories": [{"content": "Anna drinks green tea."}]})
    send("PUT", f"{here}/templates/brief", {"item": "- {{content}}\n"})
    send("PUT", f"{here}/rankers/fresh", {"expression": "semantic * 0.7 + recency * 0.3"})
    for name, query in [("RECEIPT_A", "when is the launch?"), ("RECEIPT_B", "who approves?")]:
        pack = send("POST", f"{here}/context/everything", {"query": query})
        print(f"{name}={pack['assembly']['receipt']}")


if __name__ == "__main__":
    main()
