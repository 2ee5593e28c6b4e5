"""Asks one peer the questions of one set and holds what it would give to a model against the
labels. ER, nDCG@10 and percentiles are those of `haversack eval`.
"""

import math
import tempfile
import time
from pathlib import Path

from . import sets, tokens
from .adapters import PEERS

TOP = 10


def run(name, path, budgets, limit, rust):
    """The figures of a peer on a set, one entry for each of its ways to pack."""
    module, kind = PEERS[name]
    module = __import__(f"{__package__}.adapters.{module}", fromlist=[kind])
    kind = getattr(module, kind)
    kind.program = rust
    from .embedder import Embedder

    embedder = Embedder()
    tokens.count("the vocabulary is read before any time is taken")
    answers = {packing: [] for packing in kind.packings}
    items, seconds, n_pieces = 0, 0.0, 0
    scopes = sets.read(Path(path), limit)
    for scope in scopes:
        with tempfile.TemporaryDirectory() as folder:
            peer = kind(Path(folder), embedder)
            started = time.perf_counter()
            peer.index(scope.documents)
            seconds += time.perf_counter() - started
            items += len(scope.documents)
            n_pieces += len(peer.pieces)
            for question in scope.questions:
                for packing, answer in ask(peer, question, budgets):
                    answers[packing].append(answer)
            peer.close()
    common = {
        "queries": len(next(iter(answers.values()))),
        "scopes": len(scopes),
        "pieces": n_pieces,
        "ingest": {"items": items, "seconds": seconds, "itemsPerSecond": items / seconds},
        "memoryMb": kind.memory(),
        "versions": kind.versions(),
    }
    labels = {packing: f"{name}-{packing}" if packing else name for packing in answers}
    return {
        labels[packing]: common | {"about": kind.told(packing)} | figures(own, budgets)
        for packing, own in answers.items()
    }


def ask(peer, question, budgets):
    """What became of a question, for each way to pack."""
    started = time.perf_counter()
    places = peer.rank(question.text)
    found = time.perf_counter() - started
    pieces = peer.pieces
    places = [place for place in places if pieces[place].document not in question.exclude]
    ranking = list(dict.fromkeys(pieces[place].document for place in places))
    for packing in peer.packings:
        answer = {"ndcg": ndcg(question, ranking), "packs": []}
        for budget in budgets:
            started = time.perf_counter()
            text, chosen = peer.pack(places, budget, packing)
            took = found + time.perf_counter() - started
            size, visible = tokens.within(text, budget)
            cover = covered(text, visible, [pieces[place] for place in chosen])
            pack = {"er": evidence(question, cover), "tokens": size, "seconds": took}
            answer["packs"].append(pack)
        yield packing, answer


def covered(text, visible, pieces):
    """Which characters of which documents stand in the first `visible` characters of a text."""
    cover, at = {}, 0
    for piece in pieces:
        found = text.find(piece.text, at)
        body = piece.body
        if found < 0:
            found, body = cut(text, at, piece)
        if found < 0:
            continue
        begin = found + len(piece.head)
        at = begin + len(body)
        seen = min(at, visible) - begin
        if seen > 0:
            ranges = cover.setdefault(piece.document, [])
            ranges.append((piece.start, piece.start + seen))
    return {document: sets.apart(ranges) for document, ranges in cover.items()}


def cut(text, at, piece):
    """Where a piece stands that was cut at its end, and what is there of its body."""
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


def evidence(question, cover):
    """The part of the evidence that is there: characters where they are known, else documents."""
    if not any(question.words.values()):
        found = sum(document in cover for document in question.grades)
        return found / len(question.grades)
    total = found = 0
    for document, words in question.words.items():
        total += sum(end - start for start, end in words)
        for start, end in words:
            for begin, stop in cover.get(document, ()):
                found += max(0, min(end, stop) - max(start, begin))
    return found / total


def ndcg(question, ranking):
    def discounted(grades):
        return sum((2**grade - 1) / math.log2(place) for place, grade in enumerate(grades, 2))

    best = sorted(question.grades.values(), reverse=True)
    found = [question.grades.get(document, 0) for document in ranking[:TOP]]
    return discounted(found) / discounted(best[:TOP])


def figures(answers, budgets):
    def mean(values):
        values = list(values)
        return sum(values) / len(values)

    def at(value):
        return {
            str(budget): round(mean(value(answer["packs"][place], budget) for answer in answers), 6)
            for place, budget in enumerate(budgets)
        }

    times = sorted(pack["seconds"] * 1000 for answer in answers for pack in answer["packs"])
    over = [pack["tokens"] - budget for answer in answers
            for pack, budget in zip(answer["packs"], budgets)]
    return {
        "ndcg10": round(mean(answer["ndcg"] for answer in answers), 6),
        "er": at(lambda pack, _: pack["er"]),
        "tokens": at(lambda pack, _: pack["tokens"]),
        "over": at(lambda pack, budget: pack["tokens"] > budget),
        "overShare": mean(tokens > 0 for tokens in over),
        "overMost": max(0, *over),
        "latencyMs": {"p50": percentile(times, 50), "p95": percentile(times, 95)},
    }


def percentile(times, percent):
    return round(times[max(1, math.ceil(len(times) * percent / 100)) - 1], 3)
