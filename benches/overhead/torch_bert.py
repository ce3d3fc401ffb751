"""Training steps of BERT-like layers in PyTorch, when it is this program's turn."""

import pathlib
import sys

import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForMaskedLM

from turns import Turns

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
from bert_torch import VOCABULARY, Sentences


def main() -> None:
    steps, layers, hidden, size = map(int, sys.argv[1:5])
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
    )
    model = BertForMaskedLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    turns = Turns(*sys.argv[5:7])
    for batch in DataLoader(Sentences(64, size * (steps + 1)), batch_size=size):
        turns.wait()
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
