"""The teacher: sentence vectors of all-MiniLM-L6-v2, kept on disk so that a run can resume."""

import hashlib
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

SHARD = 4096
PIECES_MAX = 128
PIECES_PER_BATCH = 2048


class Teacher:
    def __init__(self, folder, cache):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        model = Path(folder) / "model_quantized.onnx"
        self.session = onnxruntime.InferenceSession(str(model), options)
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(PIECES_MAX)
        self.cache = Path(cache) / hashlib.sha256(model.read_bytes()).hexdigest()[:16]
        self.cache.mkdir(parents=True, exist_ok=True)

    def vectors(self, texts):
        """One unit vector for each text."""
        known = self._known()
        names = [hashlib.sha256(text.encode()).digest()[:16] for text in texts]
        missing = [i for i, name in enumerate(names) if name not in known]
        for start in range(0, len(missing), SHARD):
            shard = missing[start:start + SHARD]
            found = self._embed([texts[i] for i in shard])
            self._keep([names[i] for i in shard], found)
            known.update(zip((names[i] for i in shard), found))
            print(f"taught {start + len(shard)} of {len(missing)}", flush=True)
        return np.array([known[name] for name in names], np.float32)

    def piece_vectors(self, ids):
        """The mean state over a single piece with its two marks, for each piece."""
        rows = [[self.tokenizer.token_to_id("[CLS]"), i, self.tokenizer.token_to_id("[SEP]")]
                for i in ids]
        return np.concatenate([self._run(rows[i:i + 512]) for i in range(0, len(rows), 512)])

    def _known(self):
        known = {}
        for path in sorted(self.cache.glob("*.npz")):
            with np.load(path) as shard:
                known.update(zip(map(bytes, shard["names"]), shard["vectors"]))
        return known

    def _keep(self, names, vectors):
        path = self.cache / f"{names[0].hex()}.npz"
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez(file, names=np.array([list(name) for name in names], np.uint8),
                     vectors=vectors)
        partial.rename(path)

    def _embed(self, texts):
        rows = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(rows)), key=lambda i: (len(rows[i]), i))
        found = np.zeros((len(rows), 384), np.float16)
        while order:
            size = max(1, PIECES_PER_BATCH // len(rows[order[-1]]))
            batch, order = order[-size:], order[:-size]
            states = self._run([rows[i] for i in batch])
            found[batch] = states / np.linalg.norm(states, axis=1, keepdims=True)
        return found

    def _run(self, rows):
        width = max(map(len, rows))
        ids = np.array([row + [0] * (width - len(row)) for row in rows], np.int64)
        mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self.session.run(None, given)[0]
        return (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
