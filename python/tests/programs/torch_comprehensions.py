"""Comprehensions of all kinds, nested, with conditions and walruses."""
import torch

torch.manual_seed(2)
rows = [torch.arange(n) for n in range(1, 4)]
print([[int(v) for v in row] for row in rows])
print({len(row): row.sum().item() for row in rows if row.numel() > 1})
print({int(torch.max(row)) for row in rows})
print(max(total for row in rows if (total := row.sum().item()) < 3))
print(sum(torch.dot(a, b).item() for a, b in zip(rows, rows)))
print([f(torch.tensor(4.0)).item() for f in (torch.sqrt, torch.neg)])
grid = torch.stack([torch.stack([i * torch.ones(2) for i in range(2)]) for _ in range(2)])
print(grid.shape == torch.Size([2, 2, 2]), [t.tolist() for t in grid.unbind()])
print(*(x.item() for x in torch.linspace(0, 1, 3)), sep=";")
flat = [value for row in rows for value in row.tolist() if value]
print(flat, any(torch.is_tensor(r) for r in rows), sorted(rows, key=lambda r: -r.sum().item())[0].tolist())
