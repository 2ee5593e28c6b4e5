"""Haversack's built-in embedder for peers that take one: the same table, the same vectors.

The layout of the table is told in `tools/embedder/table.py`, the rules in `embed/pieces.rs` of
haversack-core.
"""

import struct
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

TABLE = Path(__file__).parents[2] / "crates/haversack-core/models/built-in.table"
MAGIC = b"HVSKVEC1"
PIECES_MAX = 512
BYTES_MAX = 16 * 1024
WORD_CHARS_MAX = 100


class Embedder:
    def __init__(self, path=TABLE):
        data = Path(path).read_bytes()
        if not data.startswith(MAGIC):
            raise ValueError(f"{path} is not a table of vectors")
        self.dimensions, count = struct.unpack_from("<II", data, len(MAGIC))
        at = len(MAGIC) + 8
        for _ in ("name", "version"):
            at += 1 + data[at]
        self.scales = np.frombuffer(data, "<f4", self.dimensions, at)
        at += 4 * self.dimensions
        vocabulary = {}
        for row in range(count):
            length = data[at]
            vocabulary[data[at + 1 : at + 1 + length].decode()] = row
            at += 1 + length
        self.rows = np.frombuffer(data, np.int8, count * self.dimensions, at)
        self.rows = self.rows.reshape(count, self.dimensions)
        # Unknown words count among the pieces that are read, and have no vector.
        self.unknown = count
        vocabulary["[UNK]"] = count
        model = WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=WORD_CHARS_MAX)
        self.nowhere = np.full(self.dimensions, self.dimensions**-0.5, np.float32)
        self.tokenizer = Tokenizer(model)
        self.tokenizer.normalizer = BertNormalizer(lowercase=True)
        self.tokenizer.pre_tokenizer = BertPreTokenizer()
        self.tokenizer.enable_truncation(PIECES_MAX)

    def embed(self, texts):
        """One row of unit length for each text."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for begin in range(0, len(texts), 256):
            batch = [beginning(text) for text in texts[begin : begin + 256]]
            for number, encoding in enumerate(self.tokenizer.encode_batch(batch)):
                pieces = [piece for piece in encoding.ids if piece != self.unknown]
                sums = self.rows[pieces].sum(0, dtype=np.int32) * self.scales
                length = np.sqrt((sums.astype(np.float64) ** 2).sum())
                # A text without a known word has no direction, and some stores divide by zero.
                vectors[begin + number] = sums / length if length > 0 else self.nowhere
        return vectors


def beginning(text):
    data = text.encode()
    return text if len(data) <= BYTES_MAX else data[:BYTES_MAX].decode(errors="ignore")
