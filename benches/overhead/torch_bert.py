"""Training steps of BERT-base-like layers in PyTorch; prints the time that each took, from its start to that of the next, by
the clock and of the processors."""

import json
import pathlib
import sys
import time

import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForMaskedLM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
from bert_torch import VOCABULARY, Sentences  # noqa: E402


def main() -> None:
    steps, layers = int(sys.argv[1]), int(sys.argv[2])
    torch.manual_seed(1)
    config = BertConfig(vocab_size=VOCABULARY, hidden_size=768, num_hidden_layers=layers, num_attention_heads=12)
    model = BertForMaskedLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    begins = []
    for batch in DataLoader(Sentences(64, 8 * (steps + 1)), batch_size=8):
        begins.append((time.perf_counter(), time.process_time()))
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    print(json.dumps([(w - v, c - b) for (v, b), (w, c) in zip(begins, begins[1:])]))


if __name__ == "__main__":
    main()
