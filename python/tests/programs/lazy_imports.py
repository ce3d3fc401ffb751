"""Imports inside of functions and blocks, under conditions and other names."""
import importlib


def compute():
    import torch as framework
    from torch.nn import functional as fn

    return fn.softmax(framework.zeros(2), dim=0).tolist()


try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    T = torch
    tensor = T.tensor
    print(tensor([1, 2]).sum().item(), T.float32)
    arange = getattr(torch, "arange")
    print(arange(3).tolist())


class Lazy:
    @property
    def backend(self):
        import torch.linalg

        return torch.linalg

    def norm(self):
        return self.backend.norm(torch.ones(4)).item()


print(compute(), Lazy().norm())
module = importlib.import_module("torch")
print(module.ones(1).item())
