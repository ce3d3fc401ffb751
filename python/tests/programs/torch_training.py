"""A module, an optimiser and a loop."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.fc1 = nn.Linear(4, hidden)
        self.fc2 = nn.Linear(hidden, 2)
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.drop(x)
        return self.fc2(x)


def train(model, loader, optimizer, criterion, epochs=2):
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for inputs, targets in loader:
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, round(total, 4))


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = 0
    for inputs, targets in loader:
        right += (model(inputs).argmax(dim=1) == targets).sum().item()
    return right


torch.manual_seed(0)
x = torch.randn(32, 4)
y = (x.sum(dim=1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=False)
net = Net()
train(net, loader, torch.optim.SGD(net.parameters(), lr=0.1), nn.CrossEntropyLoss())
print(accuracy(net, loader) > 0, sum(p.numel() for p in net.parameters()))
