"""The parts of `torch_files`."""
# alone
import torch
from torch import nn

MODELS = {}


def register(name):
    def wrap(cls):
        MODELS[name] = cls
        return cls

    return wrap


@register("flat")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)
        self.head = nn.Linear(4, 1)

    def features(self, x):
        return torch.tanh(self.layer(x))

    def forward(self, x):
        return self.head(self.features(x))


def make_optimizer(model, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 1)


def epoch(model, optimizer, x, y):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def scaled(x: torch.Tensor) -> torch.Tensor:
    # TorchScript compiles the text of this function, of which `torch_files` decides.
    return torch.mul(x, 2.0).relu()


if __name__ == "__main__":
    print("parts")
