"""A program in two files: the model, its optimiser and a compiled function come from the other."""
# alone
import torch

import torch_files_parts as parts
from torch_files_parts import Net, epoch, make_optimizer, register

MODELS = parts.MODELS


@register("deep")
class Deep(Net):
    def __init__(self):
        super().__init__()
        self.more = torch.nn.Linear(4, 4)

    def features(self, x):
        return self.more(super().features(x)).relu()


def main():
    torch.manual_seed(0)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    for name in sorted(MODELS):
        net = MODELS[name]()
        optimizer, scheduler = make_optimizer(net, lr=0.05)
        losses = [epoch(net, optimizer, x, y) for _ in range(3)]
        scheduler.step()
        print(name, len(list(net.parameters())), f"{losses[-1]:.4f}")
        net.eval()
        print(f"{net(x).mean().item():.4f}")
    scaled = torch.jit.script(parts.scaled)
    print(scaled(x).sum().item() == parts.scaled(x).sum().item())


if __name__ == "__main__":
    main()
