"""A result of any recipe as a list of passages, each with where it comes from. For adapters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Passage:
    """A text that is in a pack."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any] = field(default_factory=dict)


def passages(result: Mapping[str, Any], workspace: str) -> list[Passage]:
    """The passages of a result, best first. Of the same score, the one that stands first is."""
    shared = {
        "workspace": workspace,
        "recipe": result["assembly"]["recipe"],
        "receipt": result["assembly"]["receipt"],
        "revision": result["assembly"]["revision"],
    }
    found = [
        Passage(passage.id, passage.text, passage.score, {**passage.metadata, **shared})
        for passage in _each(result)
    ]
    return sorted(found, key=lambda passage: -passage.score)


def _each(result: Mapping[str, Any]) -> Iterator[Passage]:
    if "memories" in result:
        yield from map(_memory, result["memories"])
    elif "data" in result:
        yield from map(_prime, result["data"]["items"], result["data"]["citations"])
    elif "contexts" in result:
        yield from (_item(item, "contexts", {}) for item in result["contexts"])
    elif "sections" in result:
        places = {place["id"]: place for place in result.get("citations", [])}
        for section in result["sections"]:
            for item in section["items"]:
                if "blockId" in item:
                    yield _block(item, section["type"])
                else:
                    yield _item(item, section["name"], places)
    else:
        raise ValueError("this recipe's result has no list of passages: use its own method")


def _item(item: Mapping[str, Any], layer: str, places: Mapping[str, Any]) -> Passage:
    chunk = item.get("chunk")
    metadata = {
        "item": item["id"],
        "kind": item["type"],
        "layer": layer,
        "citation": item["citation"],
        "tokens": item["tokens"],
        "shortened": item["shortened"],
    }
    if chunk is not None:
        metadata["chunk"] = chunk
    place = places.get(item["citation"], {})
    for name in ("title", "path", "breadcrumb", "lines", "spans"):
        if name in place:
            metadata[name] = place[name]
    name = item["id"] if chunk is None else f"{item['id']}#{chunk}"
    return Passage(name, item["content"], item["relevance"], metadata)


def _memory(found: Mapping[str, Any]) -> Passage:
    memory = found["memory"]
    rest = {name: value for name, value in memory.items() if name not in {"id", "content"}}
    metadata = {"item": memory["id"], "kind": "memory", "similarity": found["score"], **rest}
    return Passage(memory["id"], memory["content"], found["rank"], metadata)


def _prime(item: Mapping[str, Any], citation: Mapping[str, Any]) -> Passage:
    metadata = {
        "item": item["id"],
        "kind": item["type"],
        "source": item["source"],
        "citation": citation["id"],
        "tokens": item["tokens"],
        **item["metadata"],
    }
    lines = item["metadata"].get("lines")
    name = item["id"] if lines is None else f"{item['id']}#L{lines[0]}"
    return Passage(name, item["content"], item["relevance"], metadata)


def _block(item: Mapping[str, Any], layer: str) -> Passage:
    metadata = {
        "item": item["blockId"],
        "kind": item["blockType"],
        "layer": layer,
        **item["metadata"],
    }
    return Passage(item["blockId"], item["content"], item["relevance"], metadata)
