"""MenteDB and VelesDB, both written in Rust: a program in `rust/` has them, and answers one line of
JSON with another. Times are those of the engine with the pipe and the reading of the lines.
"""

import json
import subprocess
import tomllib
from pathlib import Path

from ..peer import Peer, split

LOCK = Path(__file__).parents[1] / "rust" / "Cargo.lock"
# Pieces in one line.
BATCH = 500


class RustPeer(Peer):
    packages = ("langchain-text-splitters",)
    name = ""
    # Those whose versions are reported, from the lock file.
    crates = ()
    most_mb = 0.0

    def __init__(self, folder, embedder):
        super().__init__(folder, embedder)
        command = [str(self.program), self.name, str(folder), str(embedder.dimensions)]
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self.answer()

    @classmethod
    def versions(cls):
        locked = tomllib.loads(LOCK.read_text())["package"]
        found = {package["name"]: package["version"] for package in locked}
        return super().versions() | {name: found[name] for name in cls.crates}

    @classmethod
    def describe(cls, packing):
        return f"{cls.about}; {cls.packings[packing]}"

    @classmethod
    def memory(cls):
        return cls.most_mb

    def index(self, documents):
        self.pieces = split(documents)
        for begin in range(0, len(self.pieces), BATCH):
            texts = [piece.text for piece in self.pieces[begin : begin + BATCH]]
            vectors = self.embedder.embed(texts)
            rows = [
                {"text": text, "vector": digits(vector)} for text, vector in zip(texts, vectors)
            ]
            self.ask({"add": rows})
        self.ask("done")

    def rank(self, question, depth):
        vector = digits(self.embedder.embed([question.text])[0])
        most = min(depth, len(self.pieces))
        asked = {"text": question.text, "vector": vector, "most": most}
        return self.ask({"find": asked})["found"]

    def pack(self, question, places, budget, packing):
        asked = {"places": places, "budget": budget, "packing": packing}
        packed = self.ask({"pack": asked})["packed"]
        return packed["text"], [self.pieces[place] for place in packed["places"]]

    def close(self):
        # Not what `wait4` tells, which begins with what this process had when it started the other.
        lines = Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        peak = next(line.split()[1] for line in lines if line.startswith("VmHWM:"))
        type(self).most_mb = max(self.most_mb, int(peak) / 1024)
        self.child.stdin.close()
        self.child.wait()
        self.child.stdout.close()

    def ask(self, asked):
        self.child.stdin.write(json.dumps(asked) + "\n")
        self.child.stdin.flush()
        return self.answer()

    def answer(self):
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with {self.child.wait()}")
        return json.loads(line)


def digits(vector):
    return vector.astype("<f4").tobytes().hex()


class MenteDb(RustPeer):
    name = "mentedb"
    crates = ("mentedb", "mentedb-context")
    about = (
        "`recall_hybrid_at` (HNSW and BM25, its `magnitude_aware` fusion), default configuration "
        "but `write_inference` off; pieces of 800 characters"
    )
    shipped_depth = 20
    shipped_from = "`mql_default_limit`, what a `RECALL` without `LIMIT` returns"
    packings = {
        "": "its ContextAssembler in the compact format, which counts words × 1.3",
        "greedy": "greedy",
    }

    def pack(self, question, places, budget, packing):
        if packing == "greedy":
            return self.greedy(places, budget)
        return super().pack(question, places, budget, packing)


class VelesDb(RustPeer):
    name = "velesdb"
    crates = ("velesdb-core", "velesdb-memory", "tiktoken")
    about = (
        "`hybrid_search` of velesdb-core (HNSW by cosine and BM25 by reciprocal rank, weights .5/.5, "
        "as it comes); pieces of 800 characters"
    )
    shipped_depth = 10
    shipped_from = "`default_top_k` of velesdb-core and the limit of velesdb-memory's `recall`"
    packings = {
        "": "ContextCompiler of velesdb-memory with o200k_base for its estimate, all verbatim, rank "
        "as priority",
        "estimated": "the same with its own estimate of tokens",
    }
