"""Newer syntax: match, parenthesised with, positional-only, keyword-only, typing."""
from __future__ import annotations

from typing import Iterable

import torch


def describe(value: object, /, *, scale: float = 1.0) -> str:
    match value:
        case torch.Tensor() as t if t.ndim == 1:
            return f"vector {(t * scale).sum().item()}"
        case torch.Tensor(shape=s):
            return f"tensor {tuple(s)}"
        case [first, *rest]:
            return f"list {describe(first)} +{len(rest)}"
        case {"w": w}:
            return describe(w)
        case _:
            return "other"


def norms(tensors: Iterable[torch.Tensor]) -> list[float]:
    return [round(tensor.norm().item(), 3) for tensor in tensors]


print(describe(torch.ones(3), scale=2.0), describe(torch.ones(2, 2)), describe([torch.zeros(1), 2]), describe({"w": 1}))
with (torch.no_grad(), torch.random.fork_rng(devices=[])):
    torch.manual_seed(0)
    print(norms([torch.ones(4), torch.arange(3.0)]))
a, *rest = torch.arange(6).split(2)
print(a.tolist(), [r.tolist() for r in rest])
print(f"{torch.ones(1)=} {'x' if torch.equal(a, a) else 'y'}")
