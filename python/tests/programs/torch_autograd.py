"""Gradients by hand, and a function with its own backward pass."""
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x.pow(2)


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = Cube.apply(x).sum()
y.backward()
print(x.grad.tolist())
with torch.no_grad():
    x -= 0.1 * x.grad
    x.grad.zero_()
print([round(v, 3) for v in x.tolist()])
z = (x * torch.arange(3.0)).sum()
(grad,) = torch.autograd.grad(z, x)
print(grad.tolist(), x.detach().clone().requires_grad)
h = torch.autograd.functional.hessian(lambda v: (v**3).sum(), torch.ones(2))
print(h.diagonal().tolist())
print(torch.einsum("i,j->ij", torch.ones(2), torch.arange(2.0)).mean().item())
