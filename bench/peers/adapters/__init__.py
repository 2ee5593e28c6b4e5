"""One file for each peer, one for the controls; `PEERS` lists them."""

PEERS = {
    "bm25s": ("bm25s_plain", "Split"),
    "bm25s-whole": ("bm25s_plain", "Whole"),
    "langchain": ("langchain", "LangChain"),
    "llamaindex": ("llamaindex", "LlamaIndex"),
    "txtai": ("txtai_hybrid", "Txtai"),
    "mem0": ("mem0_plain", "Mem0"),
    "chroma": ("chroma", "Chroma"),
    "lancedb": ("lancedb_hybrid", "LanceDb"),
    "mentedb": ("rust_peers", "MenteDb"),
    "velesdb": ("rust_peers", "VelesDb"),
    "bm25-sections": ("controls", "Sections"),
    "one-sentence": ("controls", "OneSentence"),
    "random": ("controls", "Random"),
}
