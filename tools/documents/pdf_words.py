#!/usr/bin/env python3
"""Holds the PDF reader's text against pdftotext's: python3 tools/documents/pdf_words.py READ FILE_OR_FOLDER…

READ is the program of `cargo build --release -p haversack-reader --example read`; pdftotext comes with poppler-utils.
Prints for each file the share of pdftotext's words that the reader's text has (as a multiset), the share of its pages
whose words stand on the reader's page of the same number, and the pages per second; in the end the means. Pages that the
reader leaves out because their fonts do not say which letters they show are counted by themselves.
"""

import argparse
import json
import re
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WORD = re.compile(r"[^\W_]+")
HYPHEN = re.compile(r"(\w)[-\u2010\u00ad]\n\s*(\w)")
# Listings whose letters pdftotext sets apart: `v o i d f ( )`. The numbers of an axis are not one word.
SPACED = re.compile(r"(?<!\S)(?:[^\s\d] ){4,}[^\s\d](?!\S)")
# The reader's mark of raised letters, of which pdftotext says nothing: 10^2.
RAISED = re.compile(r"(?<=\w)\^(?=\w)")


def count_words(text):
    """Words, with those divided at the end of a line as one, and letters that stand apart as one."""
    text = RAISED.sub("", text)
    text = SPACED.sub(lambda run: run[0].replace(" ", ""), text)
    text = unicodedata.normalize("NFKC", HYPHEN.sub(r"\1\2", text)).lower()
    return Counter(WORD.findall(text))


def count_letters(text):
    """Single letters and digits, for scripts that do not divide words by spaces."""
    return Counter(letter for letter in unicodedata.normalize("NFKC", text).lower() if letter.isalnum())


def has_wide_script(text):
    letters = [letter for letter in text if letter.isalpha()]
    wide = sum("\u2e80" <= letter <= "\ud7ff" for letter in letters)
    return wide * 5 > len(letters)


def share(ours, theirs):
    total = sum(theirs.values())
    return sum((ours & theirs).values()) / total if total else 1.0


def pdftotext_pages(path):
    done = subprocess.run(["pdftotext", "-enc", "UTF-8", path, "-"], capture_output=True, check=False, timeout=300)
    pages = done.stdout.decode("utf-8", "replace").split("\f")
    return pages[:-1]


def our_pages(part):
    lines = part["body"].split("\n")
    starts = part["pages"] + [len(lines) + 1]
    return ["\n".join(lines[start - 1 : end - 1]) for start, end in zip(starts, starts[1:])]


def measure(read, path):
    begun = time.monotonic()
    done = subprocess.run([read, path], capture_output=True, check=False, timeout=600)
    seconds = time.monotonic() - begun
    row = {"file": path.name, "seconds": seconds, "failure": None, "notices": []}
    outputs = [json.loads(line) for line in done.stdout.splitlines()]
    row["notices"] = [output["notice"] for output in outputs if "notice" in output]
    parts = [output["part"] for output in outputs if "part" in output]
    if done.returncode != 0 or len(parts) != 1:
        row["failure"] = done.stderr.decode("utf-8", "replace").strip().rsplit(": ", 1)[-1] or "no part"
        return row
    ours, theirs = our_pages(parts[0]), pdftotext_pages(path)
    row["title"] = parts[0]["title"]
    # What pdftotext makes of such pages is no more to be read: they are counted, and compared with nothing.
    unreadable = left_out(row["notices"])
    row["n_unreadable"] = len(unreadable)
    theirs = ["" if page in unreadable else text for page, text in enumerate(theirs)]
    count = count_letters if has_wide_script("".join(theirs)) else count_words
    row["share"] = share(count("\n\n".join(ours)), count("\n".join(theirs)))
    row["precision"] = share(count("\n".join(theirs)), count("\n\n".join(ours)))
    row["n_pages"] = len(theirs)
    # A page is right if it has most of what it should have; a wrong number would leave it with chance hits.
    counted = [(count(our), count(their)) for our, their in zip(ours, theirs)]
    right = [share(our, their) >= 0.7 for our, their in counted if sum(their.values()) >= 20]
    row["pages_right"] = sum(right) / len(right) if right else 1.0
    row["has_all_pages"] = len(ours) == len(theirs)
    return row


def left_out(notices):
    """The pages that the reader left out, because nobody can say which letters their fonts show; from 0."""
    pages = set()
    for notice in notices:
        if notice["what"].startswith("left out: fonts do not say"):
            for first, last in re.findall(r"(\d+)(?:-(\d+))?", notice["place"]):
                pages.update(range(int(first) - 1, int(last or first)))
    return pages


def find_files(paths):
    for path in map(Path, paths):
        yield from sorted(path.rglob("*.pdf")) if path.is_dir() else [path]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("read")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    begun = time.monotonic()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda path: measure(arguments.read, path), find_files(arguments.paths)))
    seconds = time.monotonic() - begun
    read = sorted((row for row in rows if row["failure"] is None), key=lambda row: row["share"])
    for row in read:
        pages = "" if row["has_all_pages"] else " (another number of pages)"
        print(
            f"{row['share']:.3f} of words, {row['precision']:.3f} precise, {row['pages_right']:.3f} of {row['n_pages']}"
            f" pages right{pages}, {row['n_pages'] / row['seconds']:.0f} pages/s: {row['file']}: {row['title'][:60]}"
        )
    for row in rows:
        for notice in row["notices"]:
            print(f"notice: {row['file']}: {notice['place'] or 'all'}: {notice['what']}"[:200])
        if row["failure"]:
            print(f"failure: {row['file']}: {row['failure']}")
    if not read:
        sys.exit("nothing was read")
    n_pages, in_read = sum(row["n_pages"] for row in read), sum(row["seconds"] for row in read)
    print(
        f"{len(read)} of {len(rows)} files read, {n_pages} pages: mean {sum(row['share'] for row in read) / len(read):.4f}"
        f" of words, least {read[0]['share']:.3f}, {sum(row['share'] < 0.85 for row in read)} below .85,"
        f" {sum(row['n_unreadable'] for row in read)} pages with unknown letters; mean"
        f" {sum(row['pages_right'] for row in read) / len(read):.4f} of pages right; {n_pages / in_read:.0f} pages/s for one"
        f" file at a time, {n_pages / seconds:.0f} in all with {arguments.jobs} jobs (pdftotext's time included)"
    )


if __name__ == "__main__":
    main()
