"""o200k_base without a download: llama-index-core carries the vocabulary in its package."""

import importlib.util
import os
from functools import cache
from pathlib import Path


@cache
def encoding():
    package = Path(importlib.util.find_spec("llama_index.core").origin).parent
    os.environ["TIKTOKEN_CACHE_DIR"] = str(package / "_static" / "tiktoken_cache")
    import tiktoken

    return tiktoken.get_encoding("o200k_base")


def encode(text):
    return encoding().encode_ordinary(text)


def count(text):
    return len(encode(text))


def within(text, budget):
    """How many tokens a text has, and how many of its characters are in the first `budget`."""
    tokens = encode(text)
    if len(tokens) <= budget:
        return len(tokens), len(text)
    kept = encoding().decode_bytes(tokens[:budget]).decode(errors="ignore")
    return len(tokens), len(kept)
