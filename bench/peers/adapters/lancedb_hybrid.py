"""LanceDB: hybrid search over its own full-text index and vectors, fused by reciprocal rank; greedy
packing.
"""

import lancedb
import pyarrow as pa
from lancedb.query import MatchQuery
from lancedb.rerankers import RRFReranker

from ..peer import Peer, split


class LanceDb(Peer):
    packages = ("lancedb", "pyarrow", "langchain-text-splitters")
    about = (
        "hybrid search (full text with stemming, vectors without an approximate index), "
        "RRFReranker; pieces of 800 characters; greedy"
    )
    shipped_depth = 10
    shipped_from = "what a query without `limit` returns"

    def index(self, documents):
        self.pieces = split(documents)
        texts = [piece.text for piece in self.pieces]
        vectors = self.embedder.embed(texts)
        flat = pa.array(vectors.ravel(), pa.float32())
        rows = pa.table(
            {
                "place": pa.array(range(len(texts)), pa.int64()),
                "text": texts,
                "vector": pa.FixedSizeListArray.from_arrays(flat, self.embedder.dimensions),
            }
        )
        self.table = lancedb.connect(str(self.folder)).create_table("set", rows)
        self.table.create_fts_index("text", language="English", stem=True, remove_stop_words=True)
        self.reranker = RRFReranker()

    def rank(self, question, depth):
        vector = self.embedder.embed([question.text])[0]
        search = self.table.search(query_type="hybrid").vector(vector)
        search = search.text(MatchQuery(question.text, "text")).distance_type("cosine")
        search = search.rerank(self.reranker).limit(depth).select(["place"])
        return search.to_arrow()["place"].to_pylist()
