"""Collects the scores that `haversack eval` gave each question: means, and differences between
Haversack and the best peer with confidence intervals.

The ruler is `haversack eval`; nothing here looks at a pack.
"""

import json
import zlib
from statistics import mean

import numpy as np

from .harness import RUNS

OURS = ("haversack", "haversack-everything")
DOCS = "docs/"
# The control that sets over documentation are compared with, besides the best peer.
SECTIONS = "bm25-sections"
RESAMPLES = 5_000
SEED = 20_260_101

# Figures by the key of a question's pack; `mustAll` and `brokenPacks` are made of one.
FIGURES = (
    "answer",
    "spans",
    "evidence",
    "documents",
    "named",
    "must",
    "mustAll",
    "whole",
    "brokenPacks",
    "clean",
    "clutter",
    "any",
)
LESS_IS_BETTER = {"brokenPacks", "clutter"}


def collect(folder, problems, settings):
    """Everything that the report needs of a packs folder, without a line for each question."""
    results = settings | {"systems": {}, "runs": {}, "failed": flat(problems)}
    for run in RUNS:
        scores, own = {}, {}
        for name in scored_sets(folder / run):
            found = read_set(folder / run / name, settings["limit"])
            if not found:
                continue
            scores[name] = {label: one["scores"] for label, one in found.items()}
            own[name] = {
                "systems": {label: summary(one) for label, one in found.items()},
                "budgets": next(iter(found.values()))["about"]["budgets"],
            }
            for label, one in found.items():
                about = one["about"]
                entry = results["systems"].setdefault(label, {"depth": {}})
                entry |= {key: about[key] for key in ("about", "isControl", "versions", "depthFrom")}
                entry["depth"][run] = about["depth"]
        if not own:
            continue
        peers = real_peers(results["systems"])
        for name in own:
            own[name]["differences"] = {
                ours: differences(name, scores[name], ours, peers, own[name]["budgets"])
                for ours in OURS
                if ours in scores[name]
            }
        plain = [name for name in own if not name.startswith(DOCS)]
        docs = [name for name in own if name.startswith(DOCS)]
        results["runs"][run] = {
            "sets": own,
            "means": {
                kind: means(names, scores, own, peers)
                for kind, names in (("sets", plain), ("docs", docs))
                if names
            },
        }
    return results


def flat(problems):
    return {
        peer: {name: "; ".join(steps.values()) for name, steps in own.items() if steps}
        for peer, own in problems.items()
    }


def scored_sets(folder):
    files = folder.rglob("*.scores.jsonl")
    return sorted({file.parent.relative_to(folder).as_posix() for file in files})


def real_peers(systems):
    return [name for name, one in systems.items() if name not in OURS and not one["isControl"]]


def read_set(folder, limit):
    """By label: what was run, the ruler's report, and the scores of each question.

    Scores of other questions cannot stand in the same table and are left out.
    """
    found = {}
    for lines in sorted(folder.glob("*.scores.jsonl")):
        label = lines.name.removesuffix(".scores.jsonl")
        about = json.loads((folder / f"{label}.json").read_text())
        if about["limit"] != limit:
            continue
        rows = [json.loads(line) for line in lines.read_text().splitlines()]
        found[label] = {
            "about": about,
            "report": json.loads((folder / f"{label}.report.json").read_text()),
            "scores": Scores(rows),
        }
    return found


class Scores:
    """What each question got, by figure and budget."""

    def __init__(self, rows):
        self.labelled = {key(row): row["packs"] for row in rows if row["labelled"]}
        self.unlabelled = [row["packs"] for row in rows if not row["labelled"]]
        self.cache = {}

    def values(self, figure, budget):
        """By question; those without a label for this figure are left out."""
        asked = figure, str(budget)
        if asked not in self.cache:
            found = ((name, value(packs[asked[1]], figure)) for name, packs in self.labelled.items())
            self.cache[asked] = {name: one for name, one in found if one is not None}
        return self.cache[asked]

    def mean(self, figure, budget):
        values = self.values(figure, budget)
        return mean(values.values()) if values else None


def key(row):
    return f"{row['set']}\t{row['id']}"


def value(pack, figure):
    if figure == "mustAll":
        return None if pack.get("must") is None else float(pack["must"] >= 1)
    if figure == "brokenPacks":
        return float(pack["broken"] > 0)
    return pack.get(figure)


def summary(one):
    about, report, scores = one["about"], one["report"], one["scores"]
    budgets = about["budgets"]
    figures, n = {}, {}
    for figure in FIGURES:
        n[figure] = len(scores.values(figure, budgets[0]))
        if n[figure]:
            figures[figure] = at_budgets(budgets, lambda b, f=figure: scores.mean(f, b) or 0)
    packs = {b: [pack[str(b)] for pack in scores.labelled.values()] for b in budgets}
    empty = {b: [pack[str(b)] for pack in scores.unlabelled] for b in budgets}
    times = sorted(pack["ms"] for own in packs.values() for pack in own)
    items, seconds = about["ingest"]["items"], about["ingest"]["seconds"]
    return {
        "questions": len(scores.labelled),
        "n": n,
        "figures": figures,
        "ndcg10": report["ndcg10"],
        "leftOut": report.get("leftOut"),
        "remarks": report.get("remarks") or [],
        "tokens": at_budgets(budgets, lambda b: mean(pack["tokens"] for pack in packs[b])),
        "over": at_budgets(budgets, lambda b: mean(pack["tokens"] > b for pack in packs[b])),
        "withoutEvidence": {
            "questions": len(scores.unlabelled),
            "tokens": at_budgets(budgets, lambda b: mean(pack["tokens"] for pack in empty[b])),
        }
        if scores.unlabelled
        else None,
        "latencyMs": {"p50": percentile(times, 50), "p95": percentile(times, 95)},
        "ingest": {"items": items, "itemsPerSecond": round(items / max(seconds, 1e-9), 1)},
        "memoryMb": about["memoryMb"],
        "scopes": about["scopes"],
    }


def mean_of(values):
    """The mean of those that are known: packs without text have no share of whole blocks."""
    known = [value for value in values if value is not None]
    return mean(known) if known else 0.0


def at_budgets(budgets, figure):
    return {str(budget): round(figure(budget), 6) for budget in budgets}


def percentile(times, percent):
    return round(float(np.percentile(times, percent, method="inverted_cdf")), 3)


def best(scores, peers, figure, budget):
    """The peer with the best mean; the first by name of equals."""
    sign = -1 if figure in LESS_IS_BETTER else 1
    found = {peer: scores[peer].mean(figure, budget) for peer in sorted(peers) if peer in scores}
    found = {peer: mean_ for peer, mean_ in found.items() if mean_ is not None}
    return max(found, key=lambda peer: sign * found[peer]) if found else None


def differences(name, scores, ours, peers, budgets):
    """For each figure and budget, how far one of ours is from the best peer on a set."""
    against = {"peer": lambda figure, budget: best(scores, peers, figure, budget)}
    if SECTIONS in scores:
        against["sections"] = lambda figure, budget: SECTIONS
    found = {}
    for kind, choose in against.items():
        for figure in FIGURES:
            for budget in budgets:
                if not scores[ours].values(figure, budget):
                    continue
                rival = choose(figure, budget)
                if rival is None:
                    continue
                gaps = paired(scores[ours], scores[rival], figure, budget)
                if not len(gaps):
                    continue
                means = resample(name, gaps)
                entry = {"rival": rival, "n": len(gaps)} | interval(gaps.mean(), means)
                found.setdefault(kind, {}).setdefault(figure, {})[str(budget)] = entry
    return found


def paired(ours, rival, figure, budget):
    """The differences of two systems, question by question."""
    left, right = ours.values(figure, budget), rival.values(figure, budget)
    # A pack without any text has no share of whole blocks: such questions pair with nothing.
    both = [name for name in left if name in right]
    return np.array([left[name] - right[name] for name in both])


WEIGHTS = {}


def resample(name, gaps):
    """Means of resampled questions. The same questions are drawn for all figures of a set."""
    asked = name, len(gaps)
    if asked not in WEIGHTS:
        generator = np.random.default_rng([SEED, zlib.crc32(name.encode())])
        shares = np.full(len(gaps), 1 / len(gaps))
        WEIGHTS[asked] = generator.multinomial(len(gaps), shares, RESAMPLES).astype(np.float32)
    return WEIGHTS[asked] @ gaps.astype(np.float32) / len(gaps)


def interval(by, resampled):
    low, high = np.percentile(resampled, (2.5, 97.5))
    return {"by": round(float(by), 6), "low": round(float(low), 6), "high": round(float(high), 6)}


def means(names, scores, own, peers):
    """Means over the sets that have a label, each set with the same weight."""
    budgets = own[names[0]]["budgets"]
    labels = sorted({label for name in names for label in scores[name]})
    found = {}
    for figure in FIGURES:
        having = [
            name for name in names
            if any(one.values(figure, budgets[0]) for one in scores[name].values())
        ]
        if not having:
            continue
        counts = [max(len(one.values(figure, budgets[0])) for one in scores[name].values()) for name in having]
        entry = {"sets": having, "questions": sum(counts), "systems": {}, "differences": {}}
        for label in labels:
            if all(label in scores[name] for name in having):
                own = [scores[name][label] for name in having]
                entry["systems"][label] = at_budgets(
                    budgets, lambda b: mean_of(one.mean(figure, b) for one in own)
                )
        for ours in OURS:
            if ours in entry["systems"]:
                entry["differences"][ours] = mean_differences(
                    having, scores, ours, peers, figure, budgets
                )
        found[figure] = entry
    return found


def mean_differences(names, scores, ours, peers, figure, budgets):
    """The mean over sets of the differences to the best peer of each, resampled within each set."""
    rivals = {"peer": lambda name, b: best(scores[name], peers, figure, b)}
    if all(SECTIONS in scores[name] for name in names):
        rivals["sections"] = lambda name, b: SECTIONS
    found = {}
    for kind, choose in rivals.items():
        for budget in budgets:
            chosen = {name: choose(name, budget) for name in names}
            if None in chosen.values():
                continue
            gaps = {
                name: paired(scores[name][ours], scores[name][rival], figure, budget)
                for name, rival in chosen.items()
            }
            gaps = {name: own for name, own in gaps.items() if len(own)}
            if not gaps:
                continue
            resampled = np.mean([resample(name, own) for name, own in gaps.items()], axis=0)
            by = np.mean([own.mean() for own in gaps.values()])
            found.setdefault(kind, {})[str(budget)] = interval(by, resampled)
    return found
