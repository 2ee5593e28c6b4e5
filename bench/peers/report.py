"""Results as Markdown and as a picture."""

from statistics import mean

from .compare import DOCS, LESS_IS_BETTER, OURS, RESAMPLES

ORDER = (
    *OURS,
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
    "bm25-sections",
    "one-sentence",
    "random",
)
RUNS = {"shipped": "As shipped", "equal": "At equal depth"}
COLUMNS = {
    "answer": "answers",
    "spans": "spans",
    "evidence": "evidence",
    "documents": "documents",
    "named": "named",
    "whole": "whole blocks",
    "brokenPacks": "broken packs",
    "clean": "clean",
}
DOCS_COLUMNS = {
    "mustAll": "all strings",
    "must": "strings",
    "evidence": "evidence",
    "whole": "whole blocks",
    "brokenPacks": "broken packs",
    "clean": "clean",
}
# The figures that the sets are checked for one by one.
CHECKED = ("answer", "spans", "evidence", "documents", "named", "mustAll")
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
    "multihop_wiki/2wikimultihopqa": "passages of Wikipedia with sentence spans, 2WikiMultiHopQA as sampled by HippoRAG",
    "multihop_wiki/hotpotqa": "passages of Wikipedia with sentence spans, HotpotQA as sampled by HippoRAG",
    "scifact": "abstracts of papers with exact spans, SciFact (allenai/scifact), train",
    "wiki_posthog": "pages of a handbook, PostHog/posthog.com, asked for by the texts of links to them",
}
RULES = """\
# Haversack beside its peers

What reaches the string that a model would be given, at the same token budget. No model judges.
All systems get the same corpora, the same questions (evenly spread, the ones that
`haversack eval --limit` asks) and, where a peer takes an embedder, Haversack's built-in one.

## The rules

Peers only make packs. One ruler, `haversack eval`, scores all of them and Haversack itself. Only the
first B tokens (o200k_base) of a string count at a budget of B.

- **answers**: the share of questions whose gold answer stands in the pack. Yes/no answers, answers
  that stand in the question and answers that stand in no labelled document are left out.
- **spans**: the share of supporting spans that are wholly in.
- **evidence**: the share of the evidence that is in, by characters: of the spans where a set has
  them, else of the labelled documents' text.
- **documents**: the share of labelled documents that are wholly in.
- **named**: as *evidence*, but a document with a title counts only when the pack shows the title or
  the heading above the evidence.
- **whole blocks**: the share of packed characters in whole paragraphs, list items, code blocks and
  tables. **broken packs**: the share of packs with an unclosed fence, a table without its header or
  a heading without text; less is better. **clean**: the share of packed characters from labelled
  documents.
- **as shipped**: each system returns as many results as it does when the caller does not say.
  **At equal depth**: every search returns 200 pieces. "What was run" has both numbers.
- **Controls** show what the figures are worth. `bm25-sections` is BM25 over sections,
  `one-sentence` takes the one best sentence of each hit, `random` takes pieces by chance. They are no
  peers: "the best peer" is never one of them.
- **Differences** are to the best of all peers on that set at that budget, in points, with a 95 %
  confidence interval in brackets: a paired bootstrap over questions ({resamples:,} resamples, fixed
  seed; for means, questions are resampled within each set). The best peer is chosen by the same
  questions, which favours the peers. ▼ marks a difference that is significantly below zero, ▲ one
  that is significantly above.
- Pieces have about 800 characters for all peers (`bm25s-whole` has whole documents), each under
  its document's title. Haversack also searches short texts of a document's `meta`, such as its source,
  as it does for any item's fields; peers keep such fields for filters. Peers without packing of their
  own get all pieces that still fit, in order of rank, by an exact count.
"""
AGAIN = """\
## How to run it again

    cargo xtask bench peers --data DIR --limit {limit}

installs the peers, builds Haversack, and runs everything; `--docs DIR` adds the sets over documentation
that `bench/docs/fetch.py` makes. `--peers`, `--sets` and `--runs` choose some.
Packs and scores are kept in a cache folder (`--packs-dir`) as `RUN/SET/SYSTEM.jsonl` (packs),
`SYSTEM.scores.jsonl` (a line for each question) and `SYSTEM.report.json`; `--steps score,report`
scores the packs that are there once more. `results.json` has the figures of this page.
"""
NOT_RUN = """\
- mem0 runs without spaCy's model, which is not on PyPI: no lemmas, no boost for entities. No model
  rewrites memories (`infer=False`). It is slow to fill and to search in Qdrant's local store, so it
  ran on some sets only.
- Chroma searches by vectors alone: its search by several ranks is not implemented for local
  collections in this version ("Search is not implemented for Local Chroma").
- Not tried: Zep, Letta, Graphiti, Cognee, Hindsight, Onyx and RAGFlow, which need a model to write
  or servers beside them; Haystack.
- mentedb takes no other count of tokens than words × 1.3, and does not count the marks around texts:
  hence its overruns. `mentedb-greedy` is its search with an exact count. Of its two fusions the one by
  magnitude is run, which was better in the mean on each of the three sets where both were tried
  (anthropic_code_rag, cosqa, locomo). It does not look for facts that replace others, since documents
  do not, and does nothing that takes a model (facts, entities, profiles).
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
"""


def write(results, out):
    (out / "RESULTS.md").write_text(markdown(results))
    if drawing := picture(results):
        (out / "results.svg").write_text(drawing)


def ordered(labels):
    return sorted(labels, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def markdown(results):
    parts = [RULES.format(resamples=RESAMPLES), "![Evidence in the pack against budget](results.svg)\n"]
    for run, own in runs(results):
        if "sets" in own["means"]:
            parts.append(f"## {RUNS[run]}: means\n")
            parts.append(means(results, own, "sets", COLUMNS))
    for run, own in runs(results):
        if "docs" in own["means"]:
            parts.append(f"## Questions over documentation, {RUNS[run].lower()}\n")
            parts.append(documentation(results, own))
    parts.append(without_evidence(results))
    parts.append("## Each set\n")
    parts.append("Each cell has the budgets from the smallest to the largest.\n")
    for name in sorted({name for _, own in runs(results) for name in own["sets"]}):
        parts.append(one_set(results, name))
    parts += [costs(results), notes(results)]
    return "\n".join(part for part in parts if part)


def runs(results):
    return [(run, results["runs"][run]) for run in RUNS if run in results["runs"]]


def means(results, own, kind, columns):
    found = own["means"][kind]
    columns = {figure: title for figure, title in columns.items() if figure in found}
    parts = [coverage(found, columns)]
    labels = {label for figure in columns for label in found[figure]["systems"]}
    full = [label for label in ordered(labels)
            if all(label in found[figure]["systems"] for figure in columns)]
    budgets = list(next(iter(found[next(iter(columns))]["systems"].values())))
    for budget in budgets:
        parts.append(f"### {int(budget):,} tokens\n")
        best = {
            figure: best_of(
                figure, {label: found[figure]["systems"][label][budget] for label in full}, results
            )
            for figure in columns
        }
        rows = [
            [
                shown(label, results),
                *(
                    bold(share(found[figure]["systems"][label][budget]), label in best[figure])
                    for figure in columns
                ),
            ]
            for label in full
        ]
        parts.append(table(["system", *columns.values()], rows))
    parts.append(fewer(results, own, kind, columns, full, budgets))
    parts.append("### Difference to the best peer of each set\n")
    parts.append(mean_differences(found, columns, budgets, "peer"))
    parts.append(below(own, kind, "peer", "the best peer"))
    return "\n".join(part for part in parts if part)


def coverage(found, columns):
    """Says which sets and how many questions the figures are means of."""
    groups = {}
    for figure, title in columns.items():
        entry = found[figure]
        groups.setdefault((tuple(entry["sets"]), entry["questions"]), []).append(f"*{title}*")
    lines = []
    for (names, n), titles in groups.items():
        what = "1 set" if len(names) == 1 else f"{len(names)} sets"
        listed = ", ".join(name.removeprefix(DOCS) for name in names)
        lines.append(f"- {', '.join(titles)}: {n:,} questions of {what} ({listed})")
    return "\n".join(lines) + "\n"


def best_of(figure, values, results):
    """The systems with the best figure; controls do not compete."""
    values = {
        label: round(value, 3)
        for label, value in values.items()
        if not results["systems"][label]["isControl"]
    }
    if not values:
        return set()
    most = (min if figure in LESS_IS_BETTER else max)(values.values())
    return {label for label, value in values.items() if value == most}


def fewer(results, own, kind, columns, full, budgets):
    """Systems that did not run on all sets, beside Haversack on the same ones."""
    wanted = [name for name in own["sets"] if name.startswith(DOCS) == (kind == "docs")]
    groups = {}
    for label in ordered({label for name in wanted for label in own["sets"][name]["systems"]}):
        if label not in full:
            names = tuple(name for name in wanted if label in own["sets"][name]["systems"])
            groups.setdefault(names, []).append(label)
    parts = []
    for names, labels in groups.items():
        rows = []
        for label in [*OURS, *labels]:
            if all(label in own["sets"][name]["systems"] for name in names):
                rows.append([shown(label, results), *(
                    curve([average(own, names, label, figure, budget) for budget in budgets])
                    for figure in columns
                )])
        listed = ", ".join(name.removeprefix(DOCS) for name in names)
        parts.append(f"### On {listed} alone\n\nAt {budget_list(budgets)} tokens.\n")
        parts.append(table(["system", *columns.values()], rows))
    return "\n".join(parts)


def average(own, names, label, figure, budget):
    found = [own["sets"][name]["systems"][label]["figures"].get(figure) for name in names]
    found = [one[budget] for one in found if one]
    return mean(found) if found else None


def mean_differences(found, columns, budgets, kind):
    rows = []
    for ours in OURS:
        for figure, title in columns.items():
            differences = found[figure]["differences"].get(ours, {}).get(kind)
            if differences:
                cells = [difference(differences.get(budget), figure) for budget in budgets]
                rows.append([ours, title, *cells])
    heads = [f"{int(budget):,} tokens" for budget in budgets]
    return table(["system", "figure", *heads], rows) if rows else ""


def below(own, kind, rival, named):
    """The sets on which one of ours is significantly below, by figure."""
    lines = []
    for ours in OURS:
        for figure in CHECKED:
            marks = []
            for name, one in own["sets"].items():
                if name.startswith(DOCS) != (kind == "docs"):
                    continue
                found = one["differences"].get(ours, {}).get(rival, {}).get(figure, {})
                at = [f"{int(b):,}" for b, entry in found.items() if is_worse(entry, figure)]
                if at:
                    marks.append(f"{name.removeprefix(DOCS)} at {', '.join(at)}")
            if marks:
                title = (COLUMNS | DOCS_COLUMNS)[figure]
                lines.append(f"- `{ours}`, *{title}*: {'; '.join(marks)}")
    listed = "\n".join(lines) if lines else "- nowhere"
    return f"Significantly below {named} (95 %):\n\n{listed}\n"


def documentation(results, own):
    found = own["means"]["docs"]
    columns = {figure: title for figure, title in DOCS_COLUMNS.items() if figure in found}
    budgets = list(next(iter(found["mustAll"]["systems"].values())))
    return "\n".join([
        means(results, own, "docs", DOCS_COLUMNS),
        "### Difference to the control bm25-sections\n",
        mean_differences(found, columns, budgets, "sections"),
        below(own, "docs", "sections", "`bm25-sections`"),
    ])


def without_evidence(results):
    """How much was packed for questions that have no evidence."""
    parts = []
    for run, own in runs(results):
        sets = {
            name: one for name, one in own["sets"].items()
            if any(system["withoutEvidence"] for system in one["systems"].values())
        }
        if not sets:
            continue
        labels = ordered({label for one in sets.values() for label in one["systems"]})
        rows = []
        for label in labels:
            cells = []
            for one in sets.values():
                found = one["systems"].get(label, {}).get("withoutEvidence")
                cells.append(" ".join(f"{tokens:,.0f}" for tokens in found["tokens"].values()) if found else "–")
            rows.append([shown(label, results), *cells])
        heads = []
        for name, one in sets.items():
            n = max(system["withoutEvidence"]["questions"] for system in one["systems"].values()
                    if system["withoutEvidence"])
            heads.append(f"{name} ({n})")
        parts.append(f"### {RUNS[run]}\n\n{table(['system', *heads], rows)}")
    if not parts:
        return ""
    head = (
        "## Questions without evidence\n\nMean tokens packed, at each budget, for questions that have "
        "no label. Most of them are on topic and have no answer in the corpus. Less is better.\n"
    )
    return "\n".join([head, *parts])


def one_set(results, name):
    parts = []
    for run, own in runs(results):
        if name not in own["sets"]:
            continue
        one = own["sets"][name]
        budgets = list(map(str, one["budgets"]))
        if not parts:
            first = next(iter(one["systems"].values()))
            parts.append(f"### {name}: {first['questions']} questions\n")
            parts.append(about_set(name, first))
        columns = DOCS_COLUMNS if name.startswith(DOCS) else COLUMNS
        columns = {
            figure: title for figure, title in columns.items()
            if any(figure in system["figures"] for system in one["systems"].values())
        }
        rows = [
            [shown(label, results), *(
                curve([one["systems"][label]["figures"].get(figure, {}).get(b) for b in budgets])
                for figure in columns
            ), share(one["systems"][label]["ndcg10"])]
            for label in ordered(one["systems"])
        ]
        body = [table(["system", *columns.values(), "nDCG@10"], rows)]
        body.append(set_differences(one, columns, budgets))
        title = f"{RUNS[run]}, at {budget_list(budgets)} tokens"
        text = "\n".join(part for part in body if part)
        parts.append(f"<details{' open' if run == 'shipped' else ''}><summary>{title}</summary>\n\n{text}\n</details>\n")
    return "\n".join(parts)


def about_set(name, first):
    what = f"{first['ingest']['items']:,} documents"
    if first["scopes"] > 1:
        what = f"{what} in {first['scopes']} corpora, each searched on its own"
    what = f"{SOURCES[name]}; {what}." if name in SOURCES else f"{what}."
    left = first.get("leftOut") or {}
    if any(left.values()):
        reasons = {"yesNo": "yes/no", "inQuestion": "in the question", "nowhere": "in no labelled document"}
        told = ", ".join(f"{left[key]} {reason}" for key, reason in reasons.items() if left.get(key))
        what = f"{what} Answers left out: {told}."
    return f"{what[0].upper()}{what[1:]}\n"


def set_differences(one, columns, budgets):
    rows = []
    for ours, kinds in one["differences"].items():
        for figure in CHECKED:
            title, found = columns.get(figure), kinds.get("peer", {}).get(figure)
            if title and found:
                cells = []
                for budget in budgets:
                    entry = found.get(budget)
                    cells.append(f"{difference(entry, figure)} {entry['rival']}" if entry else "–")
                rows.append([ours, title, *cells])
    heads = [f"to the best peer at {int(budget):,}" for budget in budgets]
    return table(["system", "figure", *heads], rows) if rows else ""


def costs(results):
    """Times and memory, means over the sets that a system ran on."""
    rows = []
    for label in ordered(results["systems"]):
        cells = []
        for run in RUNS:
            own = results["runs"].get(run, {"sets": {}})["sets"].values()
            cells.append([one["systems"][label] for one in own if label in one["systems"]])
        every = cells[0] or cells[1]
        if not every:
            continue
        latency = [
            f"{number(mean(one['latencyMs']['p50'] for one in own))} / "
            f"{number(mean(one['latencyMs']['p95'] for one in own))}" if own else "–"
            for own in cells
        ]
        overrun = [mean(mean(one["over"].values()) for one in own) if own else None for own in cells]
        rows.append([
            shown(label, results),
            *latency,
            *map(percent, overrun),
            number(mean(one["ingest"]["itemsPerSecond"] for one in every)),
            number(max(one["memoryMb"] for one in every)),
        ])
    heads = ["system", "p50 / p95 ms, as shipped", "at equal depth", "over, as shipped", "at equal depth", "items/s", "MB"]
    about = (
        "Search and packing of one question in milliseconds, over all budgets; the share of packs that "
        "are longer than the budget; documents stored a second, splitting and embedding included; the "
        "peak of the process. Peers in Rust (mentedb, velesdb) are behind a pipe: their times include it, "
        "and MB is the engine's process alone."
    )
    return f"## Times and memory\n\n{about}\n\n{table(heads, rows)}"


def notes(results):
    remark = results.get("remark") or ""
    parts = ["## What was run\n", f"Machine: {results['machine']}. {remark}".strip() + "\n"]
    rows = []
    for label in ordered(results["systems"]):
        one = results["systems"][label]
        versions = ", ".join(f"{package} {version}" for package, version in one["versions"].items())
        rows.append([shown(label, results), one["about"], depth(one), versions])
    parts.append(table(["system", "how", "results as shipped", "versions"], rows))
    parts.append(AGAIN.format(limit=results["limit"]))
    failed = [
        f"- {peer} on {name}: {problem}"
        for peer, sets in sorted(results["failed"].items())
        for name, problem in sorted(sets.items())
    ]
    # A pack that lacks a search which ran out of time counts as it is, and has to be known.
    remarks = [
        f"- {label} on {name}, {RUNS[run].lower()}: {remark}"
        for run, own in runs(results)
        for name, one in sorted(own["sets"].items())
        for label in OURS
        for remark in one["systems"].get(label, {}).get("remarks", [])
    ]
    missing = "\n".join([*failed, *remarks, NOT_RUN])
    parts.append(f"## What could not be run\n\n{missing}")
    return "\n".join(parts)


def depth(one):
    if one["isControl"]:
        return "as at equal depth"
    found = one["depth"].get("shipped")
    return f"{found}: {one['depthFrom']}" if found else one["depthFrom"]


def shown(label, results):
    return f"*{label}* (control)" if results["systems"][label]["isControl"] else label


def difference(entry, figure):
    if not entry:
        return "–"
    mark = " ▼" if is_worse(entry, figure) else " ▲" if is_better(entry, figure) else ""
    by, low, high = (f"{100 * entry[key]:+.1f}" for key in ("by", "low", "high"))
    return f"{by} ({low} to {high}){mark}"


def is_worse(entry, figure):
    return entry["low"] > 0 if figure in LESS_IS_BETTER else entry["high"] < 0


def is_better(entry, figure):
    return entry["high"] < 0 if figure in LESS_IS_BETTER else entry["low"] > 0


def budget_list(budgets):
    *most, last = [f"{int(budget):,}" for budget in budgets]
    return f"{', '.join(most)} and {last}" if most else last


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def bold(text, is_best):
    return f"**{text}**" if is_best else text


def share(value):
    return "–" if value is None else f"{value:.3f}"


def curve(values):
    """One cell with a figure at each budget."""
    shorts = ["–" if value is None else f"{value:.2f}".replace("0.", ".", 1) for value in values]
    return " ".join(shorts) if any(short != "–" for short in shorts) else "–"


def percent(value):
    return "–" if value is None else f"{100 * value:.1f} %"


def number(value):
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 480, 56, 220, 44, 44
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
    """Evidence by characters as shipped, mean over sets, a line for each system that has all sets."""
    run = next((own for _, own in runs(results) if "evidence" in own["means"].get("sets", {})), None)
    if run is None:
        return None
    entry = run["means"]["sets"]["evidence"]
    lines = {label: list(entry["systems"][label].values()) for label in ordered(entry["systems"])}
    budgets = [int(budget) for budget in next(iter(entry["systems"].values()))]
    named = next(RUNS[name] for name, own in runs(results) if own is run).lower()
    low = min(min(values) for values in lines.values()) // 0.1 * 0.1
    high = max(max(values) for values in lines.values()) // 0.1 * 0.1 + 0.1
    across = (WIDTH - LEFT - RIGHT) / max(1, len(budgets) - 1)

    def place(column, value):
        depth = HEIGHT - TOP - BOTTOM
        return LEFT + column * across, HEIGHT - BOTTOM - (value - low) / (high - low) * depth

    title = f"Evidence in the pack, {named}, mean over {len(entry['sets'])} sets"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{title}">',
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="title" x="{LEFT}" y="24">{title}</text>',
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
        width = 3.5 if name in OURS else 1.8
        is_control = results["systems"][name]["isControl"]
        dash = ' stroke-dasharray="2 4"' if is_control else ' stroke-dasharray="6 4"' if "-" in name else ""
        parts.append(
            f'<polyline points="{spelled}" fill="none" stroke="{colour}" '
            f'stroke-width="{width}"{dash}/>'
        )
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        y = TOP + 8 + ranked.index(name) * 22
        x = WIDTH - RIGHT + 22
        told = f"{name} (control)" if is_control else name
        parts.append(
            f'<line x1="{x}" x2="{x + 24}" y1="{y}" y2="{y}" stroke="{colour}" '
            f'stroke-width="{width}"{dash}/><text x="{x + 32}" y="{y + 4}">{told}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"
