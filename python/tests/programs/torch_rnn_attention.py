"""Recurrent and attention layers, whose results are tuples."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.rnn = nn.LSTM(8, 8, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, tokens, mask=None):
        x = self.embed(tokens)
        x, (h, c) = self.rnn(x)
        a, weights = self.attention(x, x, x)
        return self.norm(a + x).mean(dim=1), h.squeeze(0), weights


class Classifier(nn.Module):
    def __init__(self, encoder: Encoder):
        super(Classifier, self).__init__()
        self.encoder = encoder
        self.out = nn.Linear(8, 3)

    def forward(self, tokens):
        pooled, hidden, _ = self.encoder(tokens)
        return self.out(torch.cat([pooled, hidden], dim=0))


torch.manual_seed(8)
model = Classifier(Encoder()).eval()
tokens = torch.randint(0, 10, (2, 5))
with torch.inference_mode():
    logits = model(tokens)
print(tuple(logits.shape), logits.argmax(-1).tolist())
print(len(list(model.children())), sum(1 for _ in model.modules()) > 5)
