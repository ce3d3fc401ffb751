"""Datasets and samplers of one's own, and a collate function."""
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, random_split


class Squares(Dataset):
    def __init__(self, n):
        self.values = torch.arange(n, dtype=torch.float32)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        value = self.values[index]
        return value, value.square()


class Stream(IterableDataset):
    def __iter__(self):
        for i in range(4):
            yield torch.full((2,), i)


def collate(batch):
    xs, ys = zip(*batch)
    return torch.stack(xs), torch.stack(ys).unsqueeze(1)


data = Squares(10)
first, second = random_split(data, [6, 4], generator=torch.Generator().manual_seed(0))
for xs, ys in DataLoader(first, batch_size=3, collate_fn=collate):
    print(sorted(xs.tolist())[:1] is not None, tuple(ys.shape))
print(len(second), [round(y.item(), 1) for _, y in Subset(data, [1, 2])])
for batch in DataLoader(Stream(), batch_size=2):
    print(batch.sum().item(), batch.dtype)
