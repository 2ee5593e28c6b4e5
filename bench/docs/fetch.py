#!/usr/bin/env python3
"""Makes the folders of the documentation sets.

    python3 bench/docs/fetch.py --out DIR --posthog corpus.jsonl

Downloads pinned packages with pip and npm, checks their SHA-256, and takes the Markdown out of
them. A set whose folder is complete is left as it is, apart from its questions.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

HERE = Path(__file__).parent


@dataclass
class Package:
    """A published archive with documentation in it."""

    name: str
    command: list
    sha256: str
    # The folder in the archive that becomes `corpus`.
    root: str


PACKAGES = [
    Package(
        name="hatch",
        command=[sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        + ["--no-binary", "hatch", "hatch==1.18.2"],
        sha256="7f365f1a5b8f1a8162813daed9bf9fce83f15dc933fc99c6d04cbb942e64f4d0",
        root="hatch-1.18.2/docs",
    ),
    Package(
        name="nextjs",
        command=["npm", "pack", "--silent", "next@16.4.6"],
        sha256="954cc114e2e4f57464f6d2f6640ec9b7a8e493ad4373c692b2d37d135da2806a",
        root="package/dist/docs",
    ),
]


def fetch_package(package, folder):
    """Downloads a package and writes its Markdown files to `folder/corpus`."""
    corpus = folder / "corpus"
    if corpus.is_dir():
        return
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run(package.command, cwd=temporary, check=True, stdout=subprocess.DEVNULL)
        archives = [path for path in Path(temporary).iterdir() if path.suffix in {".gz", ".tgz"}]
        if len(archives) != 1:
            raise SystemExit(f"{package.name}: expected one archive, found {len(archives)}")
        found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
        if found != package.sha256:
            raise SystemExit(f"{package.name}: SHA-256 is {found}, expected {package.sha256}")
        # Written under another name first: a run that was interrupted starts again.
        partial = folder / "corpus.partial"
        shutil.rmtree(partial, ignore_errors=True)
        extract_markdown(archives[0], package.root, partial)
        partial.rename(corpus)


def extract_markdown(archive, root, out):
    """Writes the Markdown files below `root` of an archive to `out` at their relative paths."""
    with tarfile.open(archive) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            inside = member.isfile() and path.suffix == ".md" and path.is_relative_to(root)
            if not inside or ".." in path.parts:
                continue
            target = out / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tar.extractfile(member).read())


def make_posthog(source, folder):
    """Copies the corpus and adds a `path` ending in .md to each line, to be split as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "corpus.jsonl.partial"
    with source.open(encoding="utf-8") as lines, partial.open("w", encoding="utf-8") as out:
        for line in lines:
            row = json.loads(line)
            row["path"] = str(PurePosixPath(row["id"]).with_suffix(".md"))
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    partial.rename(folder / "corpus.jsonl")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the sets")
    parser.add_argument("--posthog", type=Path, help="corpus.jsonl of the PostHog pages")
    args = parser.parse_args()
    for package in PACKAGES:
        folder = args.out / package.name
        folder.mkdir(parents=True, exist_ok=True)
        fetch_package(package, folder)
        shutil.copyfile(HERE / package.name / "queries.jsonl", folder / "queries.jsonl")
        print(folder)
    if args.posthog:
        folder = args.out / "posthog"
        make_posthog(args.posthog, folder)
        shutil.copyfile(HERE / "posthog" / "queries.jsonl", folder / "queries.jsonl")
        print(folder)


if __name__ == "__main__":
    main()
