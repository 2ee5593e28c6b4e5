"""Haversack beside its peers: the same sets, questions, embedder and budgets for all."""
