"""bm25s: plain BM25 with Snowball stemming, its `lucene` variant, and greedy packing."""

import bm25s
import Stemmer

from ..peer import Peer, split, whole


class Split(Peer):
    packages = ("bm25s", "PyStemmer", "langchain-text-splitters")
    about = "BM25 (k1 0.9, b 0.4, Snowball, stop words out) over pieces of 800 characters; greedy"
    shipped_depth = 10
    shipped_from = "default of `k` of `BM25.retrieve`"

    def index(self, documents):
        self.pieces = self.parts(documents)
        self.stemmer = Stemmer.Stemmer("english")
        self.retriever = bm25s.BM25(k1=0.9, b=0.4)
        self.retriever.index(self.tokens([piece.text for piece in self.pieces]), show_progress=False)

    def parts(self, documents):
        return split(documents)

    def tokens(self, texts):
        return bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)

    def rank(self, question, depth):
        query = self.tokens([question.text])
        most = min(depth, len(self.pieces))
        places, scores = self.retriever.retrieve(query, k=most, show_progress=False)
        return [int(place) for place, score in zip(places[0], scores[0]) if score > 0]


class Whole(Split):
    packages = ("bm25s", "PyStemmer")
    about = "BM25 (k1 0.9, b 0.4, Snowball, stop words out) over whole documents; greedy"

    def parts(self, documents):
        return whole(documents)
