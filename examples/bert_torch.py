"""Pre-trains a BERT on made-up sentences, with transformers and a plain PyTorch loop; nothing is downloaded.

    jouletree run -- python examples/bert_torch.py --layers 4 --steps 20
"""

import argparse
import os
import time

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForMaskedLM

VOCABULARY, MASK = 8192, 3


class Sentences(Dataset):
    """Sequences of random tokens; of each, about one in seven is to be guessed."""

    def __init__(self, length: int, count: int) -> None:
        self.length = length
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict:
        random = torch.Generator().manual_seed(index)
        tokens = torch.randint(4, VOCABULARY, (self.length,), generator=random)
        is_hidden = torch.rand(self.length, generator=random) < 0.15
        return {
            "input_ids": torch.where(is_hidden, MASK, tokens),
            "attention_mask": torch.ones(self.length, dtype=torch.long),
            "labels": torch.where(is_hidden, tokens, -100),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()

    torch.manual_seed(1)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=arguments.hidden,
            num_hidden_layers=arguments.layers,
            num_attention_heads=arguments.heads,
            intermediate_size=4 * arguments.hidden,
            max_position_embeddings=arguments.seq,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    sentences = Sentences(arguments.seq, arguments.batch * arguments.steps)
    print(f"BERT, {sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters")

    model.train()
    began = time.monotonic()
    for step, batch in enumerate(DataLoader(sentences, batch_size=arguments.batch), 1):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        if step == 1 or step % 10 == 0:
            print(f"step {step:4}  loss {loss.item():.3f}  {(time.monotonic() - began) / step:.3f} s/step", flush=True)


if __name__ == "__main__":
    main()
