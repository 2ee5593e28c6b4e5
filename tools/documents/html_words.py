#!/usr/bin/env python3
"""Compares the words that the reader finds in web pages with those of a text browser.

    cargo build --release -p haversack-reader --example read
    tools/documents/html_words.py target/release/examples/read FOLDER [--pages 200] [--browser w3m|lynx]

For each page: the share of the reader's words that the browser shows too (what is missing here was made up
or damaged), and the share of the browser's words that the reader has (what is missing here was left out,
which menus and footers should be). The pages with the lowest shares are printed, to be looked at.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

BROWSERS = {
    "w3m": ["w3m", "-dump", "-T", "text/html", "-cols", "1000", "-O", "UTF-8"],
    "lynx": ["lynx", "-dump", "-nolist", "-width=1000", "-force_html", "-display_charset=UTF-8"],
}


def words(text):
    text = re.sub(r"\]\([^)\s]*\)|<br>|\\(?=[^\w\s])", " ", text)
    return Counter(re.findall(r"\w+", text.lower()))


def read_page(program, page):
    run = subprocess.run([program, page], capture_output=True, timeout=120)
    for line in run.stdout.decode().splitlines():
        output = json.loads(line)
        if "part" in output:
            return output["part"]["body"]
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--browser", choices=BROWSERS, default="w3m")
    options = parser.parse_args()
    pages = sorted(path for path in options.folder.rglob("*.htm*") if path.is_file())
    random.Random(7).shuffle(pages)
    rows, failed = [], []
    took = 0.0
    for page in pages[: options.pages]:
        began = time.monotonic()
        body = read_page(options.program, page)
        took += time.monotonic() - began
        if body is None:
            failed.append(page)
            continue
        dump = subprocess.run(BROWSERS[options.browser] + [page], capture_output=True).stdout
        ours, theirs = words(body), words(dump.decode(errors="replace"))
        common = sum((ours & theirs).values())
        if theirs.total() < 20:
            continue
        rows.append((common / max(ours.total(), 1), common / theirs.total(), ours.total(), page))
    if not rows:
        sys.exit("no pages with text")
    mean = [sum(row[at] for row in rows) / len(rows) for at in (0, 1)]
    print(f"{len(rows)} pages, {len(failed)} failed, {took:.1f} s")
    print(f"mean: {mean[0]:.4f} of our words are theirs, {mean[1]:.4f} of theirs are ours")
    for title, at in (("not shown by the browser", 0), ("left out by the reader", 1)):
        print(f"most {title}:")
        for row in sorted(rows, key=lambda row: row[at])[:12]:
            print(f"  {row[0]:.3f} {row[1]:.3f} {row[2]:7} {row[3]}")
    for page in failed[:20]:
        print(f"failed: {page}")


if __name__ == "__main__":
    main()
