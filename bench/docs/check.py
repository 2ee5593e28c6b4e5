#!/usr/bin/env python3
"""Checks the questions of the documentation sets against their documents.

    python3 bench/docs/check.py DIR

DIR is what fetch.py made. Exits with 1 and one line for each fault.
"""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

SETS = ["posthog", "nextjs", "hatch"]
KINDS = {"fact", "code", "table", "list", "two-places", "unanswerable"}
QUESTIONS = 40
LENGTHS = range(5, 81)
# A string that stands in more pages than this does not tell where the answer is.
PAGES_MAX = 5
# The questions of a set have to be about at least so many pages.
SPREAD_MIN = 25


def squeeze(text):
    """Replaces each run of white space with one blank, as `haversack eval` does."""
    return " ".join(text.split())


def split_sections(text):
    """Returns the squeezed text of each section of a page, split at its headings."""
    sections, in_fence = [[]], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        if not in_fence and re.match(r"#{1,6} ", line):
            sections.append([])
        sections[-1].append(line)
    return [squeeze("\n".join(section)) for section in sections]


def read_corpus(folder):
    """Returns the text of each page by its id or path."""
    lines = folder / "corpus.jsonl"
    if lines.is_file():
        with lines.open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        return {row["id"]: row["text"] for row in rows}
    root = folder / "corpus"
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.md"))
    }


def check_question(question, corpus, sections):
    """Yields the faults of one question; `corpus` is squeezed, `sections` gives those of a page."""
    meta = question["meta"]
    must, pages, kind = meta.get("must", []), meta.get("pages", []), meta["kind"]
    if kind not in KINDS:
        yield f"kind {kind!r} is none of {sorted(KINDS)}"
    if kind == "unanswerable":
        if must or pages:
            yield "an unanswerable question has no `must` and no `pages`"
        return
    if not must or not pages:
        yield "`must` and `pages` are required"
    for page in pages:
        if page not in corpus:
            yield f"page {page} is not in the corpus"
        elif not any(squeeze(text) in corpus[page] for text in must):
            yield f"page {page} has none of the strings"
    if kind in {"code", "table", "list", "two-places"} and len(must) < 2:
        yield f"a question of kind {kind} needs two strings or more"
    if kind == "two-places":
        for page in pages:
            if any(all(squeeze(text) in section for text in must) for section in sections(page)):
                yield f"one section of {page} has all strings, which is one place, not two"
    for text in map(squeeze, must):
        if len(text) not in LENGTHS:
            yield f"{text!r} has {len(text)} characters, not 5 to 80"
        if text.lower() in squeeze(question["text"]).lower():
            yield f"{text!r} stands in the question"
        if not any(text in corpus.get(page, "") for page in pages):
            yield f"{text!r} is not in {', '.join(pages)}"
        n_pages = sum(text in page for page in corpus.values())
        if n_pages > PAGES_MAX:
            yield f"{text!r} stands in {n_pages} pages, more than {PAGES_MAX}"


def check_set(folder, queries):
    """Yields the faults of one set and prints its counts."""
    texts = read_corpus(folder)
    corpus = {page: squeeze(text) for page, text in texts.items()}
    questions = [json.loads(line) for line in queries.read_text(encoding="utf-8").splitlines()]
    for question in questions:
        for fault in check_question(question, corpus, lambda page: split_sections(texts[page])):
            yield f"{question['id']}: {fault}"
    ids = Counter(question["id"] for question in questions)
    yield from (f"{id} occurs {n} times" for id, n in ids.items() if n > 1)
    if len(questions) != QUESTIONS:
        yield f"{len(questions)} questions, not {QUESTIONS}"
    pages = {page for question in questions for page in question["meta"].get("pages", [])}
    if len(pages) < SPREAD_MIN:
        yield f"the questions are about {len(pages)} pages, fewer than {SPREAD_MIN}"
    kinds = Counter(question["meta"]["kind"] for question in questions)
    counts = ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items()))
    about = f"{len(questions)} questions about {len(pages)} of {len(corpus)} pages"
    print(f"{folder.name}: {about}: {counts}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path, help="the folder that fetch.py made")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set (repeatable)")
    args = parser.parse_args()
    faults = 0
    for name in args.set or SETS:
        queries = Path(__file__).parent / name / "queries.jsonl"
        for fault in check_set(args.dir / name, queries):
            print(f"{name}: {fault}", file=sys.stderr)
            faults += 1
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
