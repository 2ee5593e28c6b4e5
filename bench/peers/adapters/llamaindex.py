"""LlamaIndex: QueryFusionRetriever over its vector index and its BM25Retriever, fused by reciprocal
rank, and the repacking of its `compact` response mode with the token limit of PromptHelper.
"""

import faiss
from llama_index.core import PromptHelper, Settings, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.prompts import PromptTemplate
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.faiss import FaissVectorStore

from .. import tokens
from ..peer import CHARACTERS, Peer, Piece, head

# About as many tokens as the characters that the others are split at.
TOKENS = CHARACTERS // 4
# Nothing around the context: the budget is for the context alone.
TEMPLATE = PromptTemplate("{context_str}")


class BuiltIn(BaseEmbedding):
    """The common embedder in LlamaIndex's form."""

    own: object = None

    def _get_query_embedding(self, query):
        return self.own.embed([query])[0].tolist()

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text):
        return self.own.embed([text])[0].tolist()

    def _get_text_embeddings(self, texts):
        return self.own.embed(texts).tolist()


class LlamaIndex(Peer):
    packages = (
        "llama-index-core",
        "llama-index-retrievers-bm25",
        "llama-index-vector-stores-faiss",
        "faiss-cpu",
    )
    about = (
        "QueryFusionRetriever (reciprocal rank, no generated queries) of Faiss and BM25 "
        "(Snowball); SentenceSplitter at 200 tokens; repacked as in `compact`, tokenizer o200k_base"
    )
    shipped_depth = 2
    shipped_from = "default of `similarity_top_k` of all three retrievers"

    def index(self, documents):
        Settings.tokenizer = tokens.encode
        Settings.llm = MockLLM()
        splitter = SentenceSplitter(chunk_size=TOKENS, chunk_overlap=0)
        for document in documents:
            at = 0
            for text in splitter.split_text(document.text):
                start = document.text.find(text, at)
                at = start if start >= 0 else at
                self.pieces.append(Piece(document.id, at, head(document), text))
        # The place tells pieces with the same text apart, whose scores fusion would add up.
        apart = {"excluded_embed_metadata_keys": ["place"], "excluded_llm_metadata_keys": ["place"]}
        nodes = [
            TextNode(text=piece.text, id_=str(place), metadata={"place": place}, **apart)
            for place, piece in enumerate(self.pieces)
        ]
        model = BuiltIn(own=self.embedder, embed_batch_size=256)
        store = FaissVectorStore(faiss_index=faiss.IndexFlatIP(self.embedder.dimensions))
        storage = StorageContext.from_defaults(vector_store=store)
        vectors = VectorStoreIndex(nodes, embed_model=model, storage_context=storage)
        retrievers = [vectors.as_retriever(), BM25Retriever.from_defaults(nodes=nodes)]
        fusion = QueryFusionRetriever(
            retrievers, num_queries=1, mode="reciprocal_rerank", use_async=False
        )
        self.retriever, self.retrievers = fusion, [*retrievers, fusion]

    def rank(self, question, depth):
        for retriever in self.retrievers:
            retriever.similarity_top_k = min(depth, len(self.pieces))
        return [int(found.node.node_id) for found in self.retriever.retrieve(question.text)]

    def pack(self, question, places, budget, packing):
        helper = PromptHelper(context_window=budget, num_output=0, chunk_overlap_ratio=0.0)
        # What the limit cannot hold goes to the next call of the model; the first is what is
        # measured, and nothing beyond the budget can be in it.
        texts, size = [], 0
        for place in places:
            texts.append(self.pieces[place].text)
            size += self.size(place)
            if size > budget + TOKENS:
                break
        parts = helper.repack(TEMPLATE, texts)
        return (parts[0] if parts else ""), [self.pieces[place] for place in places[: len(texts)]]
