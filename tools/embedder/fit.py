"""Piece vectors whose sum points where the teacher's sentence vector points."""

import numpy as np
import scipy.sparse as sparse

DIMENSIONS = 256
RARITY = 1e-3
# Retrieval wants a little more of both than the teacher's vectors do: rare pieces, small axes.
RARITY_AFTER = 3e-3
EVENNESS = 0.5
RIDGE = 0.1
ROUNDS = 3
STEPS = 20


def counts(texts, tokenizer, width):
    """How often each piece occurs in each text, as shares of the text; marks are left out."""
    rows, columns = [], []
    for start in range(0, len(texts), 4096):
        batch = tokenizer.encode_batch(texts[start:start + 4096], add_special_tokens=False)
        for row, encoding in enumerate(batch, start):
            rows += [row] * len(encoding.ids)
            columns += encoding.ids
    matrix = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)),
                               (len(texts), width))
    return sparse.diags(1 / np.maximum(matrix.sum(1).A1, 1)).astype(np.float32) @ matrix


def share(matrix):
    """How much of all texts each piece makes up."""
    return matrix.sum(0).A1 / matrix.sum()


def start(matrix, targets, single):
    """Plain distillation: each piece's own vector, fewer dimensions, rare pieces count more."""
    mean = targets.mean(0)
    _, axes = np.linalg.eigh(np.cov(targets[:50_000].T.astype(np.float64)))
    axes = axes[:, ::-1][:, :DIMENSIONS].astype(np.float32)
    single = single - single.mean(0)
    single = single / np.maximum(np.linalg.norm(single, axis=1, keepdims=True), 1e-6)
    return (single @ axes) * (RARITY / (RARITY + share(matrix)))[:, None], (targets - mean) @ axes


def fit(matrix, targets, single):
    """Ridge regression towards the plain vectors, by conjugate gradients.

    A text's length is free (only its direction counts), so each round scales the texts anew.
    """
    vectors, targets = start(matrix, targets, single)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    vectors = vectors.astype(np.float32)
    said = matrix @ vectors
    plain = vectors * np.float32((said * targets).sum() / (said * said).sum())
    vectors = plain
    for _ in range(ROUNDS):
        said = matrix @ vectors
        lengths = np.linalg.norm(said, axis=1)
        scales = np.clip((said * targets).sum(1) / np.maximum(lengths**2, 1e-6), 0.3, 3)
        scaled = (sparse.diags(scales.astype(np.float32)) @ matrix).tocsr()
        vectors = plain + solve(scaled, targets - scaled @ plain, vectors - plain)
    vectors = vectors * (RARITY_AFTER / (RARITY_AFTER + share(matrix)))[:, None]
    return vectors / vectors.std(0) ** EVENNESS


def solve(matrix, wanted, change):
    """The change that minimises |matrix change - wanted|^2 + RIDGE |change|^2."""
    turned = matrix.T.tocsr()
    scale = np.sqrt(np.asarray(matrix.multiply(matrix).sum(0)).ravel() + RIDGE)[:, None]
    scale = scale.astype(np.float32)
    change = change * scale

    def normal(x):
        x = x / scale
        return (turned @ (matrix @ x) + np.float32(RIDGE) * x) / scale

    rest = turned @ wanted / scale - normal(change)
    direction = rest.copy()
    size = (rest * rest).sum(0)
    for _ in range(STEPS):
        image = normal(direction)
        step = size / np.maximum((direction * image).sum(0), 1e-12)
        change = change + step * direction
        rest = rest - step * image
        before, size = size, (rest * rest).sum(0)
        direction = rest + size / np.maximum(before, 1e-12) * direction
    return change / scale
