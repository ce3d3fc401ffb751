"""Hooks, state dictionaries, containers of modules and parameter groups."""
import io

import torch
from torch import nn

torch.manual_seed(3)
blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
head = nn.Sequential(nn.Flatten(), nn.Linear(3, 1))
seen = []
handle = head[1].register_forward_hook(lambda m, i, o: seen.append(tuple(o.shape)))
x = torch.ones(2, 3)
for block in blocks:
    x = torch.tanh(block(x))
out = head(x)
handle.remove()
head(x)
print(seen, round(out.mean().item(), 4))
buffer = io.BytesIO()
torch.save(head.state_dict(), buffer)
buffer.seek(0)
other = nn.Sequential(nn.Flatten(), nn.Linear(3, 1))
print(other.load_state_dict(torch.load(buffer)))
print(torch.equal(other(x), head(x)))
optimizer = torch.optim.Adam([{"params": blocks.parameters()}, {"params": head.parameters(), "lr": 0.1}], lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
for _ in range(2):
    optimizer.zero_grad(set_to_none=True)
    head(x.detach()).sum().backward()
    optimizer.step()
    scheduler.step()
print([round(group["lr"], 4) for group in optimizer.param_groups], [n for n, _ in head.named_parameters()])
