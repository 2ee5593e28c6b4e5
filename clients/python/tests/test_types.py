"""The shapes of `haversack.types` against those of the server."""

from __future__ import annotations

from typing import Any

import pytest
import typing_extensions
from conftest import Server

from haversack import Haversack, _wire, types

OTHER_NAMES = {"WorkspaceState": "Workspace", "KeptTemplate": "Template"}

SENT = {"NewItem", "NewMemory", "Link", "Event", "Focus", "Turn", "Range", "Hints"}
"""Shapes of requests; the others are of results."""

REQUESTS = {
    "Options": "AnyRequest",
    "MemoryOptions": "MemoryRequest",
    "PrimeOptions": "PrimeRequest",
    "WorkspaceOptions": "WorkspaceRequest",
    "SituationOptions": "SituationRequest",
    "ProposalOptions": "ProposalRequest",
}

NOT_SCHEMAS = {"Health", "RankerExpression", "Revision", "Member", "CommonOptions", "MemoryPreview"}


@pytest.fixture(scope="module")
def schemas(server: Server) -> dict[str, Any]:
    with Haversack(server.url) as client:
        found = client.openapi()["components"]["schemas"]
    assert isinstance(found, dict)
    return found


def shapes() -> list[str]:
    return [name for name, value in vars(types).items() if typing_extensions.is_typeddict(value)]


def properties(schema: dict[str, Any], schemas: dict[str, Any]) -> tuple[set[str], set[str]]:
    """A schema's names and those that must be there, whatever it is made of."""
    names, required = set(schema.get("properties", {})), set(schema.get("required", []))
    parts = list(schema.get("allOf", []))
    if "$ref" in schema:
        parts.append(schemas[schema["$ref"].rsplit("/", 1)[1]])
    for part in parts:
        more, needed = properties(part, schemas)
        names, required = names | more, required | needed
    return names, required


def hints_of(shape: type) -> dict[str, str]:
    hints: dict[str, str] = {}
    for base in reversed(shape.__mro__):
        hints.update({k: str(v) for k, v in base.__dict__.get("__annotations__", {}).items()})
    return hints


@pytest.mark.parametrize(
    "name", [n for n in shapes() if n not in REQUESTS | dict.fromkeys(NOT_SCHEMAS)]
)
def test_a_shape_has_the_servers_names(name: str, schemas: dict[str, Any]) -> None:
    shape = getattr(types, name)
    names, required = properties(schemas[OTHER_NAMES.get(name, name)], schemas)
    hints = hints_of(shape)
    assert set(hints) == names
    ours = {one for one, hint in hints.items() if shape.__total__ and "NotRequired" not in hint}
    # Nothing is forgotten in a request, and nothing expected of a result that may not be there.
    sure = {one for one in ours if "None" not in hints[one]}
    assert ours >= required if name in SENT else sure <= required


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_options_are_names_that_the_server_knows(name: str, schemas: dict[str, Any]) -> None:
    known, _ = properties(schemas[REQUESTS[name]], schemas)
    options = {_wire.camel(one) for one in hints_of(getattr(types, name))}
    if name == "Options":
        assert options | {"query"} == known
    assert options <= known, options - known
