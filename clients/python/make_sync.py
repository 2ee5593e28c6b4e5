"""Makes the synchronous client from the asynchronous one: `python make_sync.py`.

`--check` changes nothing, and fails when the two are out of step.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent / "src" / "haversack"

WORDS = [
    (r"import asyncio\n", ""),
    (r"\nfrom collections", "\nimport time\nfrom collections"),
    (r"AsyncIterable, AsyncIterator, Iterable, Mapping", "Iterable, Iterator, Mapping"),
    (r"Union\[Iterable\[t\.NewItem\], AsyncIterable\[t\.NewItem\]\]", "Iterable[t.NewItem]"),
    (r"TYPE_CHECKING, Any, Union, cast", "TYPE_CHECKING, Any, cast"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"asyncio\.sleep", "time.sleep"),
    (r"wire\.aeach\((\w+)\)", r"\1"),
    (r"httpx\.AsyncClient", "httpx.Client"),
    (r"\bAsync(Haversack|Workspace|Iterator)\b", r"\1"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\ba(close|read|iter_lines)\b", r"\1"),
    (
        r'^"""The asynchronous client\..*?"""',
        '"""The synchronous client. It is made from `_async.py` by `make_sync.py`: change that."""',
    ),
]


def sync(text: str) -> str:
    """The synchronous form of an asynchronous text."""
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


def main() -> int:
    """Writes the file, or says that it is out of step."""
    source, target = HERE / "_async.py", HERE / "_sync.py"
    made = sync(source.read_text(encoding="utf-8"))
    if "--check" not in sys.argv:
        target.write_text(made, encoding="utf-8")
        return 0
    if target.read_text(encoding="utf-8") == made:
        return 0
    print("_sync.py is out of step with _async.py: run python make_sync.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
