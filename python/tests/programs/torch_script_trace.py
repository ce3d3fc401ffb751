"""What is scripted or traced runs as the library compiled it."""
import torch


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(2, 2)

    def forward(self, x):
        return torch.relu(self.l(x))


@torch.jit.script
def clip(x: torch.Tensor) -> torch.Tensor:
    return torch.clamp(x, 0.0, 1.0)


def plain(x):
    return torch.sigmoid(x)


torch.manual_seed(5)
example = torch.ones(1, 2)
traced = torch.jit.trace(Small(), example)
print([round(v, 4) for v in traced(example)[0].tolist()])
print(clip(torch.tensor([-1.0, 0.5, 2.0])).tolist())
print(round(plain(torch.zeros(1)).item(), 2))
mapped = torch.vmap(lambda v: torch.dot(v, v))
print(mapped(torch.ones(3, 2)).tolist())
