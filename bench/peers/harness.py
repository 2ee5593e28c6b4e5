"""Lets one peer pack for the questions of one set, and writes its packs for `haversack eval --packs`.

No quality is measured here. A line of a packs file has the string for the model, cut to the budget,
and which characters of which documents stand in it.
"""

import json
import tempfile
import time
from collections import Counter
from pathlib import Path

from . import sets, tokens
from .adapters import PEERS
from .peer import EQUAL_DEPTH

# *As shipped*: as many results as the peer's own default. *Equal*: the same number for all.
RUNS = ("shipped", "equal")
# How many documents of a ranking are written.
RANKING_MAX = 50


def run(name, path, options):
    """Writes the packs of a peer on a set, for each run and each of its ways to pack."""
    module, kind = PEERS[name]
    module = __import__(f"{__package__}.adapters.{module}", fromlist=[kind])
    kind = getattr(module, kind)
    kind.program = options.rust
    from .embedder import Embedder

    embedder = Embedder()
    tokens.count("loads the vocabulary before any time is taken")
    labels = {packing: f"{name}-{packing}" if packing else name for packing in kind.packings}
    writers = {
        (run, packing): Writer(options.folder / run, label)
        for run in options.runs
        for packing, label in labels.items()
    }
    items, seconds, n_pieces, n_questions, n_unlabelled = 0, 0.0, 0, 0, 0
    scopes = sets.read(Path(path), options.limit)
    for scope in scopes:
        with tempfile.TemporaryDirectory() as folder:
            peer = kind(Path(folder), embedder)
            started = time.perf_counter()
            peer.index(scope.documents)
            seconds += time.perf_counter() - started
            check_places(peer.pieces, scope.documents)
            items += len(scope.documents)
            n_pieces += len(peer.pieces)
            by_document = Counter(piece.document for piece in peer.pieces)
            for question in scope.questions:
                n_questions += question.is_labelled
                n_unlabelled += not question.is_labelled
                for run in options.runs:
                    depth = kind.shipped_depth if run == "shipped" else EQUAL_DEPTH
                    for packing, line in ask(peer, question, depth, by_document, options.budgets):
                        writers[run, packing].write({"set": scope.name, "id": question.id} | line)
            peer.close()
    for (run, packing), writer in writers.items():
        is_shipped = run == "shipped"
        writer.finish(
            {
                "about": kind.describe(packing),
                "isControl": kind.is_control,
                "versions": kind.versions(),
                "depth": kind.shipped_depth if is_shipped else EQUAL_DEPTH,
                "depthFrom": kind.shipped_from,
                "limit": options.limit,
                "budgets": options.budgets,
                "questions": n_questions,
                "unlabelled": n_unlabelled,
                "scopes": len(scopes),
                "pieces": n_pieces,
                "ingest": {"items": items, "seconds": round(seconds, 3)},
                "memoryMb": round(kind.memory(), 1),
            }
        )


class Writer:
    """A packs file that appears under its name only when it is complete."""

    def __init__(self, folder, label):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{label}.jsonl"
        self.about = folder / f"{label}.json"
        self.partial = folder / f"{label}.partial"
        self.about.unlink(missing_ok=True)
        self.file = open(self.partial, "w", encoding="utf-8")
        self.n_unplaced = 0

    def write(self, line):
        self.n_unplaced += line.pop("unplaced")
        self.file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def finish(self, about):
        self.file.close()
        self.partial.replace(self.path)
        about["unplaced"] = self.n_unplaced
        self.about.write_text(json.dumps(about, indent=1) + "\n")


def check_places(pieces, documents):
    """Makes sure that each piece stands in its document where it says."""
    texts = {document.id: document.text for document in documents}
    for piece in pieces:
        if not texts[piece.document].startswith(piece.body, piece.start):
            raise ValueError(f"a piece of {piece.document!r} does not stand at {piece.start}")


def ask(peer, question, depth, by_document, budgets):
    """Packs for a question, once for each way to pack and each budget."""
    # Where documents must not answer, the search goes as much deeper as they have pieces.
    n_hidden = sum(by_document[document] for document in question.exclude)
    started = time.perf_counter()
    places = peer.rank(question, depth + n_hidden)
    searched = time.perf_counter() - started
    pieces = peer.pieces
    places = [place for place in places if pieces[place].document not in question.exclude]
    places = places[: peer.most(depth)]
    ranking = list(dict.fromkeys(pieces[place].document for place in places))[:RANKING_MAX]
    for packing in peer.packings:
        for budget in budgets:
            started = time.perf_counter()
            text, packed = peer.pack(question, places, budget, packing)
            took = searched + time.perf_counter() - started
            size, visible = tokens.within(text, budget)
            parts, n_unplaced = place_parts(text, visible, packed)
            yield packing, {
                "budget": budget,
                "text": text[:visible],
                "tokens": size,
                "ms": round(took * 1000, 3),
                "ranking": ranking,
                "parts": parts,
                "unplaced": n_unplaced,
            }


def place_parts(text, visible, pieces):
    """Finds which characters of which documents stand in the first `visible` characters of a text.

    Also counts the pieces that were packed and could not be found.
    """
    parts, at, n_unplaced = [], 0, 0
    for piece in pieces:
        if at >= visible:
            break
        found = text.find(piece.text, at)
        body = piece.body
        if found < 0:
            found, body = find_truncated(text, at, piece)
        if found < 0:
            n_unplaced += 1
            continue
        begin = found + len(piece.head)
        at = begin + len(body)
        seen = min(at, visible) - begin
        if seen > 0:
            end = piece.start + seen
            parts.append({"doc": piece.document, "start": piece.start, "end": end})
    return parts, n_unplaced


def find_truncated(text, at, piece):
    """Finds a piece that was cut at its end. Returns its place and what is left of its body."""
    found = text.find(piece.text[: len(piece.head) + 20], at)
    if found < 0:
        return -1, ""
    begin = found + len(piece.head)
    length = 0
    for own, there in zip(piece.body, text[begin:]):
        if own != there:
            break
        length += 1
    return found, piece.body[:length]
