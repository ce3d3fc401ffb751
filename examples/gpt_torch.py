"""Trains a small GPT-2 on made-up text for a few steps, then has it write; nothing is downloaded.

    jouletree run -- python examples/gpt_torch.py --layers 4 --steps 10 --tokens 64
"""

import argparse
import os
import time

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel

VOCABULARY = 4096


def train(model: GPT2LMHeadModel, text: torch.Tensor, batch: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    model.train()
    began = time.monotonic()
    for step, (tokens,) in enumerate(DataLoader(TensorDataset(text), batch_size=batch), 1):
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step == 1 or step % 10 == 0:
            print(f"step {step:4}  loss {loss.item():.3f}  {(time.monotonic() - began) / step:.3f} s/step", flush=True)


def write(model: GPT2LMHeadModel, beginning: torch.Tensor, tokens: int) -> None:
    model.eval()
    began = time.monotonic()
    written = model.generate(
        input_ids=beginning,
        attention_mask=torch.ones_like(beginning),
        max_new_tokens=tokens,
        min_new_tokens=tokens,
        do_sample=False,
        pad_token_id=0,
    )
    count = written[:, beginning.shape[1] :].numel()
    took = (time.monotonic() - began) / tokens
    print(f"wrote {count} tokens, {len(written)} at a time in {took * 1000:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=100)
    arguments = parser.parse_args()

    torch.manual_seed(1)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY,
            n_embd=arguments.hidden,
            n_layer=arguments.layers,
            n_head=arguments.heads,
            n_positions=max(arguments.seq, 16 + arguments.tokens),
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    print(f"GPT-2, {sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters")
    text = torch.randint(1, VOCABULARY, (arguments.batch * arguments.steps, arguments.seq))
    if arguments.steps:
        train(model, text, arguments.batch)
    if arguments.tokens:
        write(model, torch.randint(1, VOCABULARY, (arguments.batch, 16)), arguments.tokens)


if __name__ == "__main__":
    main()
