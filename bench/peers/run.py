"""Runs the peers and Haversack, each on each set in a process of its own, and writes the results.

    python -m bench.peers.run --data DIR [--sets a,b] [--peers a,b] [--runs shipped,equal]

Three steps, of which `--steps` can choose some: `pack` lets the peers write their packs,
`score` has `haversack eval` measure them and Haversack itself, `report` compares and writes.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import compare, report, sets
from .adapters import PEERS
from .harness import RUNS
from .peer import EQUAL_DEPTH

SETS = (
    "locomo",
    "beam",
    "lihua_world",
    "multihop_wiki/hotpotqa",
    "multihop_wiki/2wikimultihopqa",
    "multihop_rag",
    "chroma_chunking",
    "anthropic_code_rag",
    "cosqa",
    "scifact",
    "chorus_icecat",
    "wiki_posthog",
)
# Sets over documentation are named `docs/NAME`; their questions have strings that must stand in
# the pack.
DOCS = "docs/"
STEPS = ("pack", "score", "report")
RECIPES = {"haversack": "memory", "haversack-everything": "everything"}
HERE = Path(__file__).parent
PACKS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "haversack" / "peers"
# One thread for all, and no telemetry.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "LANCE_CPU_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
}


def main():
    options = arguments()
    if options.one:
        from . import harness

        options.folder = options.packs_dir
        harness.run(options.one, options.data, options)
        return
    failed = options.packs_dir / "failed.json"
    problems = json.loads(failed.read_text()) if failed.is_file() else {}
    # A peer at a time, so that the packs of one are all there before the next begins.
    for peer in options.peers:
        for name in options.sets:
            for step in ("pack", "score"):
                if step not in options.steps:
                    continue
                began = time.monotonic()
                action = pack if step == "pack" else score
                done, problem = action(peer, name, options)
                if not done and not problem:
                    continue
                seconds = time.monotonic() - began
                print(f"{name} {peer}: {problem or step + ' done'} in {seconds:.0f} s", flush=True)
                note_problem(problems, peer, name, step, problem)
                options.packs_dir.mkdir(parents=True, exist_ok=True)
                failed.write_text(json.dumps(problems, sort_keys=True, separators=(",", ":")) + "\n")
    if "report" in options.steps:
        settings = {"limit": options.limit, "machine": machine(), "remark": options.remark or ""}
        results = compare.collect(options.packs_dir, problems, settings)
        path = options.out / "results.json"
        path.write_text(json.dumps(results, sort_keys=True, separators=(",", ":")) + "\n")
        report.write(results, options.out)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*PEERS, *RECIPES]
    parser.add_argument("--data", type=Path, required=True, help="the folder of the sets")
    parser.add_argument("--docs", type=Path,
                        help="the folder of the sets over documentation, as bench/docs makes it")
    parser.add_argument("--sets", type=names,
                        help=f"default: all; those over documentation are called {DOCS}NAME")
    parser.add_argument("--peers", type=names, default=every, help=", ".join(every))
    parser.add_argument("--runs", type=names, default=list(RUNS),
                        help="shipped: each peer's own number of results; "
                        f"equal: {EQUAL_DEPTH} for all")
    parser.add_argument("--steps", type=names, default=list(STEPS), help=", ".join(STEPS))
    parser.add_argument("--limit", type=int, default=200, help="questions of each set")
    parser.add_argument("--budgets", type=numbers, default=[512, 1000, 2000, 4000])
    parser.add_argument("--docs-budgets", type=numbers, default=[1000, 1500, 3000])
    parser.add_argument("--haversack", type=Path, default=Path("haversack"), help="the program")
    parser.add_argument("--rust", type=Path, default=Path("rust-peers"),
                        help="the program with the peers that are written in Rust")
    parser.add_argument("--packs-dir", type=Path, default=PACKS, help="where packs and scores go")
    parser.add_argument("--keep", action="store_true",
                        help="keep packs and scores that were made with the same options")
    parser.add_argument("--out", type=Path, default=HERE, help="where the results go")
    parser.add_argument("--remark", help="a sentence about this run, for the results")
    parser.add_argument("--seconds", type=int, default=900, help="time limit of a peer on a set")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sets is None:
        options.sets = [*SETS, *(DOCS + path.name for path in docs_sets(options.docs))]
    for option, known in (("peers", every), ("runs", RUNS), ("steps", STEPS)):
        for name in getattr(options, option):
            if name not in known:
                parser.error(f"--{option}: {name!r} is none of {', '.join(known)}")
    return options


def docs_sets(folder):
    return [path for path in sorted(folder.iterdir()) if sets.is_set(path)] if folder else []


def names(text):
    return [name for name in text.split(",") if name]


def numbers(text):
    return [int(number) for number in text.split(",")]


def locate(name, options):
    """The folder of a set, and its budgets."""
    if name.startswith(DOCS):
        return options.docs / name.removeprefix(DOCS), options.docs_budgets
    return options.data / name, options.budgets


def note_problem(problems, peer, name, step, problem):
    steps = problems.setdefault(peer, {}).setdefault(name, {})
    steps.pop(step, None)
    if problem:
        steps[step] = problem


def pack(peer, name, options):
    """Lets a peer write its packs of a set. Returns whether it did, and what went wrong."""
    path, budgets = locate(name, options)
    runs = [run for run in options.runs if not is_packed(peer, name, run, budgets, options)]
    if peer in RECIPES or not runs:
        return False, None
    # Packs and scores lie in `RUN/SET`; the child is given one folder for each run.
    with tempfile.TemporaryDirectory(dir=prepared(options.packs_dir)) as folder:
        command = [sys.executable, "-m", f"{__package__}.run", "--one", peer]
        command += ["--data", path, "--packs-dir", folder, "--runs", ",".join(runs)]
        command += [*common(options.limit, budgets), "--rust", options.rust]
        try:
            finish(command, options.seconds)
        except Failed as failed:
            return False, str(failed)
        for file in Path(folder).glob("*/*.json*"):
            target = prepared(options.packs_dir / file.parent.name / name)
            (target / f"{file.stem}.scores.jsonl").unlink(missing_ok=True)
            file.replace(target / file.name)
    return True, None


def is_packed(peer, name, run, budgets, options):
    about = options.packs_dir / run / name / f"{peer}.json"
    if not options.keep or not about.is_file():
        return False
    made = json.loads(about.read_text())
    return made["limit"] == options.limit and made["budgets"] == budgets


def score(peer, name, options):
    """Has `haversack eval` measure what is there of a peer on a set."""
    is_done = False
    for run in options.runs:
        folder = options.packs_dir / run / name
        labels = [peer] if peer in RECIPES else packed_labels(peer, folder)
        for label in labels:
            if options.keep and (folder / f"{label}.scores.jsonl").is_file():
                continue
            try:
                score_one(label, name, run, options)
            except Failed as failed:
                return is_done, f"{label}: {failed}"
            is_done = True
    return is_done, None


def packed_labels(peer, folder):
    """A peer's ways to pack that have packs. `bm25s-whole` is a peer of its own."""
    labels = (path.stem for path in sorted(folder.glob(f"{peer}*.jsonl")))
    labels = (label for label in labels if not label.endswith((".scores", ".report")))
    return [label for label in labels if label == peer or label not in PEERS]


def score_one(label, name, run, options):
    """Writes `LABEL.scores.jsonl`, a line for each question, and `LABEL.report.json`."""
    folder = prepared(options.packs_dir / run / name)
    path, budgets = locate(name, options)
    lines = folder / f"{label}.scores.jsonl"
    partial = folder / f"{label}.scores.partial"
    # Should this fail, older scores must not take its place.
    lines.unlink(missing_ok=True)
    command = [options.haversack, "eval", path, "--json", "--per-query", partial]
    command += common(options.limit, budgets)
    if label in RECIPES:
        command += ["--recipe", RECIPES[label]]
        command += ["--limit-candidates", EQUAL_DEPTH] if run == "equal" else []
    else:
        command += ["--packs", folder / f"{label}.jsonl"]
    output, memory = finish(command, options.seconds)
    found = json.loads(output)
    write_json(folder / f"{label}.report.json", found)
    if label in RECIPES:
        about = {
            "about": f"recipe `{RECIPES[label]}`, its own splitter, search and packing",
            "isControl": False,
            "versions": {"haversack": own_version(options.haversack)},
            "depth": EQUAL_DEPTH if run == "equal" else None,
            "depthFrom": "the recipe's own",
            "limit": options.limit,
            "budgets": budgets,
            "scopes": found["scopes"],
            "ingest": found["ingest"],
            "memoryMb": round(memory, 1),
        }
        write_json(folder / f"{label}.json", about)
    partial.replace(lines)


def write_json(path, value):
    """Replaces a file as a whole, so that hard-linked copies of a packs folder stay as they are."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(value, indent=1) + "\n")
    partial.replace(path)


def own_version(program):
    found = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return found.stdout.split()[-1]


def common(limit, budgets):
    return ["--limit", limit, "--budgets", ",".join(map(str, budgets))]


def prepared(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Failed(Exception):
    pass


def finish(command, seconds):
    """Runs a command. Returns its output and its peak memory in MB."""
    command = [str(argument) for argument in command]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        environment = os.environ | ENVIRONMENT
        try:
            child = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
        except OSError as error:
            raise Failed(f"{command[0]} cannot be started: {error}") from error
        ends = time.monotonic() + seconds
        # Only `wait4` gives the memory of the child.
        while (ended := os.wait4(child.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > ends:
                child.kill()
                child.wait()
                raise Failed(f"not done after {seconds} s")
            time.sleep(0.05)
        child.returncode = os.waitstatus_to_exitcode(ended[1])
        output.seek(0)
        errors.seek(0)
        if child.returncode:
            lines = errors.read().decode(errors="replace").strip().splitlines() or ["no message"]
            raise Failed(f"ended with {child.returncode}: {lines[-1][:300]}")
        return output.read(), ended[2].ru_maxrss / 1024


def machine():
    kind = f"{platform.system()} on {platform.machine()}"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores{processor()}, {memory:.0f} GB, {kind}"


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f" ({names[0]})" if names else ""


if __name__ == "__main__":
    main()
