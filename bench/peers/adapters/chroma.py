"""Chroma: its local collection, which searches by vectors; greedy packing."""

import chromadb
from chromadb.config import Settings

from ..peer import Peer, split


class Chroma(Peer):
    packages = ("chromadb", "langchain-text-splitters")
    about = "PersistentClient, HNSW by cosine; pieces of 800 characters; greedy"
    shipped_depth = 10
    shipped_from = "default of `n_results` of `Collection.query`"

    def index(self, documents):
        self.pieces = split(documents)
        self.client = chromadb.PersistentClient(
            str(self.folder), settings=Settings(anonymized_telemetry=False)
        )
        self.collection = self.client.create_collection(
            "set", embedding_function=None, configuration={"hnsw": {"space": "cosine", "ef_search": 400}}
        )
        most = self.client.get_max_batch_size()
        for begin in range(0, len(self.pieces), most):
            texts = [piece.text for piece in self.pieces[begin : begin + most]]
            self.collection.add(
                ids=[str(begin + place) for place in range(len(texts))],
                documents=texts,
                embeddings=self.embedder.embed(texts),
            )

    def rank(self, question, depth):
        most = min(depth, len(self.pieces))
        found = self.collection.query(
            query_embeddings=self.embedder.embed([question.text]), n_results=most, include=["documents"]
        )
        return [int(place) for place in found["ids"][0]]

    def close(self):
        self.client.close()
