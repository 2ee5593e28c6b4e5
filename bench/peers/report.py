"""Results as Markdown and as a picture."""

from statistics import mean

OURS = "haversack"
ORDER = (
    "haversack",
    "haversack-everything",
    "bm25s",
    "bm25s-whole",
    "langchain",
    "langchain-approximate",
    "llamaindex",
    "txtai",
    "mem0",
    "chroma",
    "lancedb",
    "mentedb",
    "mentedb-greedy",
    "velesdb",
    "velesdb-estimated",
)
# What the sets are and where they come from.
SOURCES = {
    "anthropic_code_rag": "chunks of code, Anthropic's cookbook on contextual embeddings",
    "beam": "long chats, BEAM (mohammadtavakoli78/BEAM), those of 100K tokens",
    "chorus_icecat": "a catalogue of electronics with human grades, o19s/chorus, half of its queries",
    "chroma_chunking": "speeches, articles, chats and reports with exact spans, Chroma's chunking_evaluation",
    "cosqa": "Python functions and real web queries, CoSQA (CoCLR), dev",
    "lihua_world": "a year of chat logs, LiHua-World (HKUDS/MiniRAG)",
    "locomo": "turns of long conversations, LoCoMo (snap-research/locomo)",
    "multihop_rag": "news articles with exact spans, MultiHop-RAG (yixuantt/MultiHop-RAG)",
    "multihop_wiki/2wikimultihopqa": "passages of Wikipedia, 2WikiMultiHopQA as sampled by HippoRAG",
    "multihop_wiki/hotpotqa": "passages of Wikipedia, HotpotQA as sampled by HippoRAG",
    "scifact": "abstracts of papers with exact spans, SciFact (allenai/scifact), train",
    "wiki_posthog": "pages of a handbook, PostHog/posthog.com, asked for by the texts of links to them",
}
RULES = """\
# Haversack beside its peers

How much labelled evidence reaches the string that a model would be given, at the same token budget.
No model judges. All get the same corpora, the same questions (evenly spread, the ones that
`haversack eval --limit` asks) and, where a peer takes an embedder, Haversack's built-in one.

- **ER@B**: the share of a question's evidence within the first B tokens (o200k_base) of the final
  string: characters where a set has spans, else documents. A document is in when any of its text is:
  the rule of `haversack eval`, for all.
- **over**: the share of packs that are longer than the budget. What lies beyond it does not count.
- **items/s**: documents stored a second, splitting and embedding included. **p50, p95**: search and
  packing of one question in milliseconds, over all budgets. **MB**: the peak of the process, with
  the language's own runtime and the set in it. Peers in Rust (mentedb, velesdb) are behind a pipe:
  their times are those of the engine, the pipe and the lines of JSON on both sides; splitting and
  embedding is Python's, as for all; MB is the engine's process alone.
- Pieces of about 800 characters for all peers (`bm25s-whole` alone has whole documents), each
  under its document's title. Haversack also searches short texts of a document's `meta`, such as its
  source, as it does for any item's fields; peers keep such fields for filters. Its recipe `memory`
  shows no titles, as chat memories have none; `everything` shows title and citation of each text.
  Every search finds 200. Peers without packing of their own get all
  pieces that still fit, in order of rank, by an exact count.
"""
NOT_RUN = """\
- mem0 runs without spaCy's model, which is not on PyPI: no lemmas, no boost for entities. No model
  rewrites memories (`infer=False`). It is slow to fill and to search in Qdrant's local store: it was
  stopped after four sets, and the others were not begun.
- Chroma searches by vectors alone: its search by several ranks is not implemented for local
  collections in this version ("Search is not implemented for Local Chroma").
- Not tried: Zep, Letta, Graphiti, Cognee, Hindsight, Onyx and RAGFlow, which need a model to write
  or servers beside them; Haystack.
- mentedb has no way to give it another count of tokens than words × 1.3, and counts no marks around
  the texts: hence its overruns. `mentedb-greedy` is its search with an exact count. Of its two
  fusions the one by magnitude is run, which was better in the mean on each of the three sets where
  both were tried (anthropic_code_rag, cosqa, locomo). It looks for no facts that replace others,
  since documents do not, and does nothing that takes a model (facts, entities, profiles). Two runs
  gave the same but for chroma_chunking (.012 at 512) and chorus_icecat (.001).
- velesdb is the hybrid search of velesdb-core with the compiler of velesdb-memory behind it, because
  the recall of velesdb-memory itself goes by vectors and links alone, and no peer is given links.
  The compiler puts texts with numbers, links, code or prohibitions before all others unless all are
  marked: here all are, with their rank as priority, so that it keeps to the search. It is given
  o200k_base to count by; `velesdb-estimated` has its own careful estimate. Everything else is as it
  comes (RRF at 60, weights .5/.5, HNSW of default size, full vectors, equal texts kept once). Its
  licence asks that data, machine, version and settings be told with such figures; they are here.
- Other Rust peers: memvid-core 2.0.140 does not build offline with its vectors (the build of its
  runtime for models fetches a library), and without them it is BM25 by tantivy; the store in memory of
  rig-core 0.44.0 goes by vectors alone, as Chroma does here, and packs nothing; swiftide 0.33.0
  needs rustc 1.97.
- Haversack's own overruns are by its own count, which `eval` reports; the strings of the others are
  counted here.
"""


def write(results, out):
    (out / "RESULTS.md").write_text(markdown(results))
    (out / "results.svg").write_text(picture(results))


def systems(results):
    """Names in a fixed order, with their figures by set."""
    found = results["systems"]
    known = [name for name in ORDER if name in found]
    return {name: found[name] for name in [*known, *sorted(set(found) - set(known))]}


def common(results):
    """The sets that Haversack was run on; without it, all."""
    every = {name for own in results["systems"].values() for name in own}
    return sorted(results["systems"].get(OURS, every))


def average(own, sets, value):
    """The mean over sets; `None` when one is missing."""
    return mean(value(own[name]) for name in sets) if all(name in own for name in sets) else None


def markdown(results):
    budgets = [str(budget) for budget in results["budgets"]]
    sets = common(results)
    parts = [RULES, "![Mean evidence recall against budget](results.svg)\n"]
    parts.append(f"## Means over {len(sets)} sets\n")
    parts.append(means(results, sets, budgets))
    partial = {name: own for name, own in systems(results).items() if set(sets) - set(own)}
    if partial:
        parts.append(fewer(results, partial, budgets))
    parts.append("## Each set\n")
    for name in sorted({name for own in systems(results).values() for name in own}):
        parts.append(one_set(results, name, budgets))
    parts.append(notes(results))
    return "\n".join(parts)


def means(results, sets, budgets):
    rows = []
    for name, own in systems(results).items():
        if set(sets) - set(own):
            continue
        values = [average(own, sets, lambda one, b=b: one["er"][b]) for b in budgets]
        rows.append([name, *map(share, values), *cells(own, sets)])
    return table(heads(budgets), rows)


def fewer(results, partial, budgets):
    """Systems that were not done with all sets, beside Haversack on the same ones."""
    groups = {}
    for name, own in partial.items():
        groups.setdefault(tuple(sorted(own)), []).append(name)
    parts = []
    for sets, names in groups.items():
        rows = []
        for name in [OURS, *names]:
            own = results["systems"].get(name, {})
            if set(sets) <= set(own):
                values = [average(own, sets, lambda one, b=b: one["er"][b]) for b in budgets]
                rows.append([name, *map(share, values), *cells(own, sets)])
        parts.append(f"On {len(sets)} of them alone ({', '.join(sets)}):\n")
        parts.append(table(heads(budgets), rows))
    return "\n".join(parts)


def heads(budgets):
    scores = [f"ER@{budget}" for budget in budgets]
    return ["system", *scores, "nDCG@10", "over", "items/s", "p50", "p95", "MB"]


def cells(own, sets):
    return [
        share(average(own, sets, lambda one: one["ndcg10"])),
        percent(average(own, sets, lambda one: one["overShare"])),
        number(average(own, sets, lambda one: one["ingest"]["itemsPerSecond"])),
        number(average(own, sets, lambda one: one["latencyMs"]["p50"])),
        number(average(own, sets, lambda one: one["latencyMs"]["p95"])),
        number(max(own[name]["memoryMb"] for name in sets)),
    ]


def one_set(results, name, budgets):
    rows = []
    for system, own in systems(results).items():
        if name in own:
            values = [share(own[name]["er"][budget]) for budget in budgets]
            rows.append([system, *values, *cells(own, [name])])
    asked = next(own[name] for own in systems(results).values() if name in own)
    what = f"{asked['ingest']['items']:,} documents, {asked['scopes']} searched on their own"
    if asked["scopes"] == 1:
        what = f"{asked['ingest']['items']:,} documents"
    what = f"{SOURCES[name]}; {what}." if name in SOURCES else f"{what}."
    what = what[0].upper() + what[1:]
    return f"### {name}: {asked['queries']} questions\n\n{what}\n\n{table(heads(budgets), rows)}"


def notes(results):
    remark = results.get("remark", "")
    parts = ["## What was run\n", f"Machine: {results['machine']}. {remark}\n"]
    rows = []
    for name, own in systems(results).items():
        one = next(iter(own.values()))
        versions = ", ".join(f"{package} {version}" for package, version in one["versions"].items())
        rows.append([name, one["about"], versions])
    parts.append(table(["system", "how", "versions"], rows))
    command = f"cargo xtask bench peers --data DIR --limit {results['limit']}"
    parts.append(f"Again: `{command}`; for some alone, `--peers` and `--sets`.\n")
    failed = [
        f"- {peer} on {name}: {problem}"
        for peer, sets in sorted(results["failed"].items())
        for name, problem in sorted(sets.items())
    ]
    missing = "\n".join([*failed, NOT_RUN])
    parts.append(f"## What could not be run\n\n{missing}")
    return "\n".join(parts)


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def share(value):
    return "–" if value is None else f"{value:.3f}"


def percent(value):
    return "–" if value is None else f"{100 * value:.1f} %"


def number(value):
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 56, 210, 44, 44
COLOURS = (
    "#0a7d33", "#7fb069", "#8c8c8c", "#b0722a", "#2563c9", "#7ba7ee",
    "#8a3fc0", "#c2255c", "#d9822b", "#0f8b8d", "#b59a00", "#d4c15c", "#e0409a", "#f0a3cc",
)
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.grid { stroke: #d0d7de } .back { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .grid { stroke: #3d444d } .back { fill: #0d1117 }
}"""


def picture(results):
    """Mean ER over sets against the budget, a line for each system that has all sets."""
    budgets, sets = results["budgets"], common(results)
    lines = {}
    for name, own in systems(results).items():
        values = [average(own, sets, lambda one, b=b: one["er"][str(b)]) for b in budgets]
        if None not in values:
            lines[name] = values
    low = min(min(values) for values in lines.values()) // 0.1 * 0.1
    high = max(max(values) for values in lines.values()) // 0.1 * 0.1 + 0.1
    across = (WIDTH - LEFT - RIGHT) / max(1, len(budgets) - 1)

    def place(column, value):
        depth = HEIGHT - TOP - BOTTOM
        return LEFT + column * across, HEIGHT - BOTTOM - (value - low) / (high - low) * depth

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="Mean evidence recall against the token budget">',
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="title" x="{LEFT}" y="24">Evidence in the pack, mean over {len(sets)} sets</text>',
    ]
    for step in range(round(low * 10), round(high * 10) + 1):
        _, y = place(0, step / 10)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{step / 10:.1f}</text>')
    for column, budget in enumerate(budgets):
        x, _ = place(column, low)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 18}" text-anchor="middle">{budget:,} tokens</text>')
    ranked = sorted(lines, key=lambda name: (-mean(lines[name]), name))
    for name, values in reversed(lines.items()):
        colour = COLOURS[list(lines).index(name) % len(COLOURS)]
        points = [place(column, value) for column, value in enumerate(values)]
        spelled = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        width = 3.5 if name == OURS else 1.8
        dash = ' stroke-dasharray="6 4"' if "-" in name else ""
        parts.append(
            f'<polyline points="{spelled}" fill="none" stroke="{colour}" '
            f'stroke-width="{width}"{dash}/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        y = TOP + 16 + ranked.index(name) * 24
        x = WIDTH - RIGHT + 22
        parts.append(
            f'<line x1="{x}" x2="{x + 24}" y1="{y}" y2="{y}" stroke="{colour}" '
            f'stroke-width="{width}"{dash}/><text x="{x + 32}" y="{y + 4}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"
