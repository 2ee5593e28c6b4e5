"""txtai: its hybrid index of BM25 and vectors; greedy packing."""

from txtai import Embeddings

from ..peer import Peer, split


class Txtai(Peer):
    packages = ("txtai", "faiss-cpu", "torch", "langchain-text-splitters")
    about = "hybrid index (weights .5/.5), Faiss; pieces of 800 characters; greedy"
    shipped_depth = 3
    shipped_from = "default of `limit` of `Embeddings.search`"

    def index(self, documents):
        self.pieces = split(documents)
        self.index_ = Embeddings(
            hybrid=True, method="external", transform=lambda texts: self.embedder.embed(texts), backend="faiss"
        )
        self.index_.index(
            (place, piece.text, None) for place, piece in enumerate(self.pieces)
        )

    def rank(self, question, depth):
        return [place for place, _ in self.index_.search(question.text, depth)]

    def close(self):
        self.index_.close()
