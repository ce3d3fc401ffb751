"""Configuration in dataclasses, factories in dictionaries, dispatch by name."""
from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Optional

import torch

OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
ACTIVATIONS: dict = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


@dataclass
class Config:
    model: torch.nn.Module
    optimizer: str = "sgd"
    rate: float = 0.1
    activation: Callable = torch.nn.Identity
    history: list = field(default_factory=list)
    best: Optional[torch.Tensor] = None


def build(activation):
    layer = ACTIVATIONS[activation]
    return torch.nn.Sequential(torch.nn.Linear(2, 2), layer())


def run(config: Config) -> Config:
    optimizer = OPTIMIZERS[config.optimizer](config.model.parameters(), lr=config.rate)
    make = partial(torch.full, (1, 2))
    loss = config.model(make(1.0)).sum()
    loss.backward()
    optimizer.step()
    config.history.append(round(loss.item(), 4))
    config.best = loss.detach()
    return config


torch.manual_seed(1)
config = run(run(Config(build("tanh"), optimizer="adam")))
print(len(config.history), config.best.ndim, isinstance(config.activation(), torch.nn.Module))
name = "ones"
print(getattr(torch, name)(2).tolist())
print(getattr(torch, "zeros")(2).tolist())
