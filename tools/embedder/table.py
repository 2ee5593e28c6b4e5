"""The table's bytes, which `embed/table.rs` in haversack-core reads. All numbers little-endian.

    8 bytes   magic "HVSKVEC1"
    u32       dimensions
    u32       pieces
    u8, ...   length and text of the model's name, then of its version
    f32 ...   one scale for each dimension
    u8, ...   length and text of each piece, in the order of the bytes
    i8 ...    one row for each piece
"""

import struct

import numpy as np

MAGIC = b"HVSKVEC1"
NAME = "haversack-static-en"
VERSION = "1"
# Outliers are clipped here, in standard deviations of their dimension.
CLIP = 6.0


def is_usable(piece):
    """Marks such as [CLS] and [unused7] never come out of a text."""
    return not (piece.startswith("[") and piece.endswith("]") and len(piece) > 2)


def quantise(vectors):
    """Whole numbers from -127 to 127 and the scale of each dimension."""
    bounds = np.minimum(np.abs(vectors).max(0), CLIP * vectors.std(0))
    scales = (bounds / 127).astype(np.float32)
    return np.clip(np.rint(vectors / scales), -127, 127).astype(np.int8), scales


def encode(pieces, vectors):
    kept = sorted((piece.encode(), i) for i, piece in enumerate(pieces) if is_usable(piece))
    rows, scales = quantise(vectors[[i for _, i in kept]])
    short = [NAME.encode(), VERSION.encode()]
    parts = [MAGIC, struct.pack("<II", vectors.shape[1], len(kept))]
    parts += [bytes([len(text)]) + text for text in short]
    parts.append(scales.astype("<f4").tobytes())
    parts += [bytes([len(piece)]) + piece for piece, _ in kept]
    parts.append(rows.tobytes())
    return b"".join(parts)
