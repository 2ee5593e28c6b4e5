"""Runs the peers and Haversack, each on each set in a process of its own, and writes the results.

    python -m bench.peers.run --data DIR [--sets a,b] [--peers a,b] [--limit 200]
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

from . import report
from .adapters import PEERS

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
RECIPES = {"haversack": "memory", "haversack-everything": "everything"}
HERE = Path(__file__).parent
# One thread for all, and nobody calls home.
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

        found = harness.run(
            options.one, options.data, options.budgets, options.limit, options.rust
        )
        print(json.dumps(found))
        return
    path = options.out / "results.json"
    asked = {"limit": options.limit, "budgets": options.budgets}
    results = json.loads(path.read_text()) if path.is_file() else {}
    # Figures of other questions or budgets cannot stand in one table.
    if any(results.get(key) != value for key, value in asked.items()):
        results = {"systems": {}, "failed": {}}
    results |= asked | {"machine": machine()}
    if options.remark:
        results["remark"] = options.remark
    for name in options.sets:
        for peer in options.peers:
            began = time.monotonic()
            found, problem = measure(peer, name, options)
            print(f"{name} {peer}: {problem or 'done'} in {time.monotonic() - began:.0f} s", flush=True)
            for label, figures in found.items():
                results["systems"].setdefault(label, {})[name] = figures
            failed = results["failed"].setdefault(peer, {})
            failed.pop(name, None)
            if problem:
                failed[name] = problem
            path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    report.write(results, options.out)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = lambda text: [name for name in text.split(",") if name]
    every = [*PEERS, *RECIPES]
    parser.add_argument("--data", type=Path, required=True, help="the folder of the sets")
    parser.add_argument("--sets", type=names, default=list(SETS))
    parser.add_argument("--peers", type=names, default=every, help=", ".join(every))
    parser.add_argument("--limit", type=int, default=200, help="questions of each set")
    parser.add_argument("--budgets", type=lambda text: [int(b) for b in text.split(",")],
                        default=[512, 1000, 2000, 4000])
    parser.add_argument("--haversack", type=Path, default=Path("haversack"), help="the program")
    parser.add_argument("--rust", type=Path, default=Path("rust-peers"),
                        help="the program with the peers that are written in Rust")
    parser.add_argument("--out", type=Path, default=HERE, help="where results are kept and added to")
    parser.add_argument("--remark", help="what else should be said of this run")
    parser.add_argument("--seconds", type=int, default=900, help="most time for a peer on a set")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for peer in options.peers:
        if peer not in every:
            parser.error(f"--peers: {peer!r} is none of {', '.join(every)}")
    return options


def measure(peer, name, options):
    """The figures of a peer by label, and what went wrong."""
    budgets = ",".join(map(str, options.budgets))
    common = ["--limit", str(options.limit), "--budgets", budgets]
    path = str(options.data / name)
    if peer in RECIPES:
        return measure_own(peer, path, common, options)
    command = [sys.executable, "-m", f"{__package__}.run", "--one", peer, "--data", path, *common]
    command += ["--rust", str(options.rust)]
    try:
        return json.loads(finish(command, options.seconds)[0]), None
    except Failed as failed:
        return {}, str(failed)


def measure_own(peer, path, common, options):
    """The same for Haversack, by its own command."""
    program, recipe = str(options.haversack), RECIPES[peer]
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "answers.jsonl"
        command = [program, "eval", path, "--recipe", recipe, "--json", *common]
        try:
            output, memory = finish([*command, "--per-query", str(lines)], options.seconds)
        except Failed as failed:
            return {}, str(failed)
        answers = [json.loads(line) for line in lines.read_text().splitlines()]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    version = version.stdout.split()[-1]
    return {peer: own(json.loads(output), answers, memory, version, recipe)}, None


class Failed(Exception):
    pass


def finish(command, seconds):
    """What a command wrote, and the most memory it had, in MB."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        environment = os.environ | ENVIRONMENT
        child = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
        ends = time.monotonic() + seconds
        # Not `wait`: only this call says how much memory the child had.
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
            raise Failed(f"ended with {child.returncode}: {lines[-1][:200]}")
        return output.read(), ended[2].ru_maxrss / 1024


def own(found, answers, memory, version, recipe):
    """Haversack's report in the form of the others."""
    kept = ("queries", "scopes", "ndcg10", "er", "tokens", "latencyMs", "ingest")
    over = {
        budget: [answer["tokens"][budget] - int(budget) for answer in answers]
        for budget in found["er"]
    }
    share = {budget: sum(by > 0 for by in all_) / len(all_) for budget, all_ in over.items()}
    return {key: found[key] for key in kept} | {
        "over": share,
        "overShare": sum(share.values()) / len(share),
        "overMost": max(0, *(max(all_) for all_ in over.values())),
        "memoryMb": memory,
        "versions": {"haversack": version},
        "about": f"recipe `{recipe}`, its own splitter, search and packing",
    }


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
