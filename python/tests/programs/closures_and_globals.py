"""Names that several scopes share: globals, nonlocals, closures, shadows."""
import torch

model = None
torch_like = {"ones": lambda n: [1] * n}


def make():
    global model
    model = torch.nn.Linear(2, 1)
    return lambda x: model(x)


def counter():
    total = torch.zeros(1)

    def add(value):
        nonlocal total
        total = total + torch.tensor(float(value))
        return total.item()

    return add


def shadow(torch):
    return torch["ones"](2)


torch.manual_seed(0)
run = make()
print(tuple(run(torch.ones(3, 2)).shape), tuple(model(torch.ones(1, 2)).shape))
add = counter()
print(add(1), add(2), shadow(torch_like))
x = torch.ones(2)
x = x.tolist()
x.append(3)
print(x, x.index(3), x.count(1.0))
del model
