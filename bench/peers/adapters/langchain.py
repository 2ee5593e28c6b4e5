"""LangChain: EnsembleRetriever over BM25Retriever and FAISS, documents joined by blank lines until
the token limit.

It has no one counter: `exact` is what a model's own tokenizer gives (`get_num_tokens` of an OpenAI
model), `approximate` its `count_tokens_approximately`, the default where no model is at hand.
"""

import re

import Stemmer
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_community.vectorstores.utils import DistanceStrategy
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages.utils import count_tokens_approximately

from .. import tokens
from ..peer import SEPARATOR, Peer, split


class BuiltIn(Embeddings):
    """The common embedder in LangChain's form."""

    def __init__(self, embedder):
        self.embedder = embedder

    def embed_documents(self, texts):
        return self.embedder.embed(texts).tolist()

    def embed_query(self, text):
        return self.embedder.embed([text])[0].tolist()


class LangChain(Peer):
    packages = (
        "langchain-core",
        "langchain-classic",
        "langchain-community",
        "langchain-text-splitters",
        "rank-bm25",
        "faiss-cpu",
    )
    about = (
        "EnsembleRetriever (weights .5/.5) of BM25Retriever (Snowball) and FAISS; pieces of 800 "
        "characters; joined in order until the next is over the limit"
    )
    shipped_depth = 4
    shipped_from = "default of `k` of both retrievers; the ensemble returns the union, up to 8"
    packings = ("", "approximate")

    def index(self, documents):
        import faiss

        self.pieces = split(documents)
        stored = [
            Document(page_content=piece.text, id=str(place), metadata={"place": place})
            for place, piece in enumerate(self.pieces)
        ]
        stemmer = Stemmer.Stemmer("english")
        words = re.compile(r"\w+")
        self.keywords = BM25Retriever.from_documents(
            stored,
            preprocess_func=lambda text: stemmer.stemWords(words.findall(text.lower())),
        )
        store = FAISS(
            BuiltIn(self.embedder),
            faiss.IndexFlatIP(self.embedder.dimensions),
            InMemoryDocstore(),
            {},
            distance_strategy=DistanceStrategy.MAX_INNER_PRODUCT,
        )
        store.add_documents(stored, ids=[document.id for document in stored])
        self.vectors = store.as_retriever()
        self.retriever = EnsembleRetriever(
            retrievers=[self.keywords, self.vectors],
            weights=[0.5, 0.5],
            id_key="place",
        )

    def rank(self, question, depth):
        self.keywords.k = depth
        self.vectors.search_kwargs["k"] = depth
        return [found.metadata["place"] for found in self.retriever.invoke(question.text)]

    def most(self, depth):
        return 2 * depth if depth == self.shipped_depth else depth

    def pack(self, question, places, budget, packing):
        chosen, size = [], 0
        for place in places:
            piece = self.pieces[place]
            if packing == "approximate":
                # Each piece as the content of a message; 3 are the counter's own for a message.
                own = count_tokens_approximately([piece.text], extra_tokens_per_message=0)
            else:
                own = tokens.count(piece.text + SEPARATOR)
            if size + own > budget:
                break
            chosen.append(piece)
            size += own
        return SEPARATOR.join(piece.text for piece in chosen), chosen
