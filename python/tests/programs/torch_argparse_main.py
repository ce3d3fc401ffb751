#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""A command line: arguments, a main function, a guard."""

import argparse
import logging
import sys

import torch


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    return parser.parse_args(argv)


def setup(args):
    torch.manual_seed(42)
    device = torch.device("cuda" if torch.cuda.is_available() and args.device == "cuda" else "cpu")
    model = torch.nn.Linear(3, 1).to(device)
    return model, device


def main(argv=None) -> int:
    args = parse(argv)
    log = logging.getLogger(__name__)
    model, device = setup(args)
    for step in range(args.steps):
        x = torch.ones(1, 3, device=device) * step
        value = model(x).item()
        log.debug("%s", value)
        print(f"{step}: {value:.4f} {torch.is_tensor(x)!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main([]))
