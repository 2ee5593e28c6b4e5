#!/usr/bin/env python3
"""Fetches PDFs to measure the reader with, from Debian's packages of documentation: pdf_fetch.py FOLDER [--packages 130]

Takes packages by the hash of their names, so that a release of Debian always gives the same ones, and at most two PDFs
of each. Packages that showed weaknesses of the reader are always among them. Needs apt-get (with the system's sources),
dpkg-deb and curl. The PDFs are not part of the project; their licences are their packages'.
"""

import argparse
import gzip
import hashlib
import re
import subprocess
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CONTENTS = "http://deb.debian.org/debian/dists/{release}/main/Contents-all.gz"

# Cyrillic and Korean cards, fonts with numbered glyphs, bullets without a meaning, logos, pages of numbers.
ALWAYS = ["debian-refcard", "genometools-doc", "bird2-doc"]

FILES_OF_ALWAYS = 40
PACKAGE_BYTES_MAX = 25 << 20


def by_hash(name):
    return hashlib.sha256(name.encode()).hexdigest()


def list_pdfs(release):
    """The PDFs of each package of the section doc."""
    command = ["curl", "-sSf", CONTENTS.format(release=release)]
    contents = subprocess.run(command, check=True, capture_output=True, timeout=300).stdout
    pdfs = defaultdict(list)
    for line in gzip.decompress(contents).decode("utf-8", "replace").splitlines():
        found = re.fullmatch(r"(\S+\.pdf(?:\.gz)?)\s+doc/([^,]+)", line)
        if found:
            pdfs[found[2]].append(found[1])
    return pdfs


def sizes_of(packages):
    """Bytes of each package."""
    shown = subprocess.run(["apt-cache", "show", "--no-all-versions", *packages], capture_output=True, text=True, check=False)
    rows = re.findall(r"^Package: (\S+)$.*?^Size: (\d+)$", shown.stdout, re.MULTILINE | re.DOTALL)
    return {name: int(size) for name, size in rows}


def fetch(package, paths, folder):
    """Writes PDFs of a package into the folder, each with the package's name before its own."""
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(["apt-get", "download", "-qq", package], cwd=scratch, check=False, timeout=600)
        debs = list(Path(scratch).glob("*.deb"))
        if done.returncode != 0 or not debs:
            return f"{package}: not downloaded"
        subprocess.run(["dpkg-deb", "-x", debs[0], "x"], cwd=scratch, check=True, timeout=600)
        for path in paths:
            at = Path(scratch, "x", path)
            if not at.is_file() or at.is_symlink():
                continue
            data = at.read_bytes()
            data = gzip.decompress(data) if at.suffix == ".gz" else data
            Path(folder, f"{package}--{at.name.removesuffix('.gz')}").write_bytes(data)
    return f"{package}: {len(paths)} files"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", type=int, default=130)
    parser.add_argument("--release", default="bookworm")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pdfs = list_pdfs(arguments.release)
    sizes = sizes_of(sorted(pdfs))
    fitting = [name for name in pdfs if sizes.get(name, PACKAGE_BYTES_MAX + 1) <= PACKAGE_BYTES_MAX]
    chosen = sorted(set(fitting) - set(ALWAYS), key=by_hash)[: arguments.packages]
    jobs = [(name, sorted(pdfs[name], key=by_hash)[:2]) for name in chosen]
    jobs += [(name, sorted(pdfs[name], key=by_hash)[:FILES_OF_ALWAYS]) for name in ALWAYS if name in pdfs]
    with ThreadPoolExecutor(4) as pool:
        for line in pool.map(lambda job: fetch(*job, arguments.folder), jobs):
            print(line)


if __name__ == "__main__":
    main()
