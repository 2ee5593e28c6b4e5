"""Checks that alerts and dashboard ask only for figures that the server has.

Reads the names from the server's own page, and from the code for those that only show once something
happened.

    python tools/watching.py METRICS-PAGE
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = ROOT / "crates/haversack-serve/src/metrics.rs"
FILES = [
    "deploy/prometheus/alerts.yml",
    "deploy/prometheus/alerts_test.yml",
    "deploy/grafana/haversack.json",
]
SUFFIXES = {
    "counter": ["_total"],
    "gauge": [""],
    "info": ["_info"],
    "histogram": ["_bucket", "_sum", "_count"],
}


def exported(page: str) -> set[str]:
    """Every name of a series that the server can have."""
    names = set()
    for name, sort in re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE):
        names.update(name + suffix for suffix in SUFFIXES[sort])
    # A family without a series yet is not on the page, so that its sort is not known either.
    for name in re.findall(r'register\(\s*"(\w+)"', CODE.read_text(encoding="utf-8")):
        if f"# TYPE haversack_{name} " not in page:
            for suffixes in SUFFIXES.values():
                names.update(f"haversack_{name}{suffix}" for suffix in suffixes)
    return names


def main() -> int:
    """Says what is asked for in vain."""
    known = exported(Path(sys.argv[1]).read_text(encoding="utf-8"))
    wrong = 0
    for file in FILES:
        text = (ROOT / file).read_text(encoding="utf-8")
        used = set(re.findall(r"\b(haversack_\w+)", text)) - {
            "haversack_assembly_stage_duration_seconds"
        }
        for name in sorted(used - known):
            print(f"{file}: there is no figure {name}", file=sys.stderr)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
