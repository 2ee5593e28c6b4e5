"""mem0: memories as they are (`infer=False`), in Qdrant's local store, with its mix of vectors and
BM25; greedy packing.

Two of its parts are fetched over the network when first used. The stop words of its BM25 encoder
are given here instead. spaCy's model, from which it has lemmas and entities, is not on PyPI: mem0
goes on without, as it does for everybody who has not installed it.
"""

from bm25s.stopwords import STOPWORDS_EN
from fastembed import SparseTextEmbedding
from mem0 import Memory

from ..peer import EQUAL_DEPTH, Peer, split


class BuiltIn:
    """The common embedder in mem0's form."""

    def __init__(self, embedder):
        self.embedder = embedder

    def embed(self, text, memory_action=None):
        return self.embedder.embed([text])[0].tolist()

    def embed_batch(self, texts, memory_action=None):
        return self.embedder.embed(texts).tolist()


class Mem0(Peer):
    packages = ("mem0ai", "qdrant-client", "fastembed", "langchain-text-splitters")
    about = (
        "`infer=False`, Qdrant's local store, vectors and BM25 by its own mix, no spaCy; pieces of "
        "800 characters; greedy"
    )
    shipped_depth = 20
    shipped_from = "default of `top_k` of `Memory.search`, with its `threshold` of 0.1"

    def index(self, documents):
        self.pieces = split(documents)
        unused = {"provider": "openai", "config": {"api_key": "none is called"}}
        store = {
            "collection_name": "set",
            "path": str(self.folder / "qdrant"),
            "embedding_model_dims": self.embedder.dimensions,
            "on_disk": True,
        }
        self.memory = Memory.from_config(
            {
                "llm": unused,
                "embedder": unused,
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(self.folder / "history.db"),
            }
        )
        self.memory.embedding_model = BuiltIn(self.embedder)
        self.memory.vector_store._bm25_encoder = SparseTextEmbedding(
            "Qdrant/bm25", specific_model_path=str(self.folder), stopwords=set(STOPWORDS_EN)
        )
        for place, piece in enumerate(self.pieces):
            message = {"role": "user", "content": piece.text}
            metadata = {"place": place}
            self.memory.add([message], user_id="set", infer=False, metadata=metadata)

    def rank(self, question, depth):
        # As shipped its own threshold stays; else nothing may be missing among as many as asked for.
        threshold = {"threshold": 0.0} if depth >= EQUAL_DEPTH else {}
        found = self.memory.search(
            question.text, top_k=depth, filters={"user_id": "set"}, **threshold
        )
        return [memory["metadata"]["place"] for memory in found["results"]]

    def close(self):
        self.memory.vector_store.client.close()
        self.memory.close()
