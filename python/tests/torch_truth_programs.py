"""Small PyTorch programs of the usual kinds, each with the true number of its steps, for ``test_torch_truth``.

A program is run after `PRELUDE`. `gap` is time in which it does something that belongs to no step.
"""

from __future__ import annotations

PRELUDE = """
import time, torch, torch.nn as nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset
def gap(seconds=0.002):
    begin = time.time_ns()
    while time.time_ns() - begin < seconds * 1e9: sum(range(100))
    print("gap", begin, time.time_ns())
class Net(nn.Module):
    def __init__(self, size=16, out=4):
        super().__init__()
        self.first, self.second = nn.Linear(size, 16), nn.Linear(16, out)
    def forward(self, x):
        return self.second(torch.relu(self.first(x)))
def loader(count=16, batch=4, size=16):
    return DataLoader(TensorDataset(torch.randn(count, size), torch.zeros(count, dtype=torch.long)), batch_size=batch)
net, x = Net(), torch.randn(4, 16)
sgd = lambda part, **named: torch.optim.SGD(part.parameters(), lr=0.01, **named)
"""

#: By name: the program, and how many steps of each phase and function it has; ``phase`` alone has no function.
PROGRAMS: dict[str, tuple[str, dict[str, int]]] = {}


def program(name: str, truth: dict[str, int], text: str) -> None:
    PROGRAMS[name] = (text, truth)


# Losses that are modules.

program("loss module", {"train": 15, "evaluate": 12}, """
crit, o = nn.CrossEntropyLoss(weight=torch.ones(4)), sgd(net)
y = torch.zeros(4, dtype=torch.long)
for epoch in range(3):
    net.train()
    for _ in range(5): o.zero_grad(); crit(net(x), y).backward(); o.step()
    net.eval()
    with torch.no_grad():
        for _ in range(4): crit(net(x), y); gap()
    gap()
""")

program("loss class of the program", {"train": 4, "evaluate": 6}, """
class Mine(nn.Module):
    def forward(self, out, y): return (out - y).pow(2).mean()
crit, o = Mine(), sgd(net)
for epoch in range(2):
    for _ in range(2): crit(net.train()(x), 1).backward(); o.step(); o.zero_grad()
    gap()
    with torch.no_grad():
        for _ in range(3): crit(net.eval()(x), 1)
    crit(torch.randn(4), 1)
    gap()
""")

program("criterion with parameters", {"train": 3, "evaluate": 4}, """
class Margin(nn.Module):
    def __init__(self):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(4))
    def forward(self, out): return (out - self.centres).pow(2).mean()
crit = Margin()
o = torch.optim.SGD([*net.parameters(), *crit.parameters()], lr=0.01)
for _ in range(3): o.zero_grad(); crit(net(x)).backward(); o.step()
net.eval()
with torch.no_grad():
    for _ in range(4): crit(net(x).view(-1, 4))
""")

program("language model without an optimizer", {"train": 19, "evaluate": 14}, """
crit = nn.NLLLoss()
y = torch.zeros(4, dtype=torch.long)
def evaluate(count):
    net.eval()
    with torch.no_grad():
        for _ in range(count): crit(F.log_softmax(net(x), 1), y)
for epoch in range(1):
    net.train()
    for _ in range(19):
        net.zero_grad()
        crit(F.log_softmax(net(x), 1), y).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        for p in net.parameters(): p.data.add_(p.grad, alpha=-0.1)
    evaluate(7)
    gap()
evaluate(7)
""")

# Work that is long past.

program("teacher long before", {"predict a": 1, "train": 5}, """
a, b = nn.Linear(16, 16), nn.Linear(16, 4)
with torch.no_grad(): a(x)
gap(1.2)
o = sgd(b)
for _ in range(5): o.zero_grad(); b(x).sum().backward(); o.step()
""")

program("a look at a batch", {"train": 4}, """
next(iter(loader()))
gap(1.2)
o = sgd(net)
for xs, _ in loader(): o.zero_grad(); net(xs).sum().backward(); o.step()
""")

program("zeroed long before", {"train": 3}, """
o = sgd(net)
for _ in range(3):
    net(x).sum().backward(); o.step(); o.zero_grad()
    gap(1.2)
""")

# Modules that data sets call.

TRANSFORM = """
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(1))
        self.scale = nn.Parameter(torch.ones(1))
    def forward(self, x): return x - self.mean
class Data(Dataset):
    def __init__(self): self.t = Norm()
    def __len__(self): return 64
    def __getitem__(self, i): return self.t(torch.randn(16)), 0
data, o = Data(), sgd(net)
for epoch in range(2):
    net.train()
    for xs, _ in DataLoader(data, 16, num_workers=WORKERS): o.zero_grad(); net(xs).sum().backward(); o.step()
    net.eval()
    with torch.no_grad():
        for xs, _ in DataLoader(data, 16, num_workers=WORKERS): net(xs)
data[0]
"""
program("transform", {"train": 8, "evaluate": 9}, TRANSFORM.replace("WORKERS", "0").replace("data[0]", "net(data[0][0])"))
program("transform in workers", {"train": 8, "evaluate": 8}, TRANSFORM.replace("WORKERS", "2").replace("data[0]", ""))

# Evaluation first, and around.

program("evaluation first", {"train": 21, "evaluate": 48}, """
o = sgd(net)
@torch.no_grad()
def estimate_loss(count):
    net.eval()
    for split in range(2):
        for _ in range(count): F.cross_entropy(net(torch.randn(4, 16)), torch.zeros(4, dtype=torch.long))
    net.train()
estimate_loss(20)
gap()
for i in range(21):
    if i == 10: estimate_loss(4); gap()
    net(torch.randn(4, 16)).sum().backward()
    o.step()
    o.zero_grad(set_to_none=True)
""")

program("evaluation first with loaders", {"train": 24, "evaluate": 75}, """
o, train, valid = sgd(net), loader(48), loader(100)
for epoch in range(3):
    net.eval()
    with torch.no_grad():
        for xs, _ in valid: net(xs)
    gap()
    if epoch == 2: break
    net.train()
    for xs, _ in train: o.zero_grad(); net(xs).sum().backward(); o.step()
    gap()
""")

program("gradients left over", {"train": 6, "evaluate": 8}, """
o = sgd(net)
for epoch in range(2):
    net.train()
    for i, (xs, _) in enumerate(loader(20)):
        net(xs).sum().backward()
        if i % 2: o.step(); o.zero_grad()
    gap()
    net.eval()
    with torch.no_grad():
        for xs, _ in loader(): net(xs)
""")

program("careless evaluation", {"train": 4, "evaluate": 4}, """
o = sgd(net)
for xs, _ in loader(): o.zero_grad(); net(xs).sum().backward(); o.step()
for xs, _ in loader(): out = net(xs)
""")

program("one token at a time", {"predict": 12}, """
net.eval()
for xs, _ in loader(8, 4):
    for _ in range(6): net(xs)
""")

# Several models.

program("teacher and student", {"train": 4, "evaluate student": 2}, """
teacher, student = Net().eval(), Net()
o = sgd(student)
def train(xs):
    with torch.no_grad(): wanted = teacher(xs)
    o.zero_grad(); (student(xs) - wanted).pow(2).sum().backward(); o.step()
train(x); train(x.clone())
with torch.no_grad():
    for _ in range(2): student.eval()(x)
student.train()
for xs, _ in loader(8): train(xs + 0)
""")

program("frozen backbone", {"train": 3}, """
backbone, head = Net(out=16), nn.Linear(16, 2)
for p in backbone.parameters(): p.requires_grad = False
o = sgd(head)
for _ in range(3): o.zero_grad(); head(backbone(x).flatten(1)).sum().backward(); o.step()
""")

GAN = """
class Generator(Net): pass
class Discriminator(Net): pass
G, D, crit = Generator(8, 16), Discriminator(16, 1), nn.BCEWithLogitsLoss()
of_g, of_d = sgd(G), sgd(D)
for i in range(N):
    for _ in range(CRITICS):
        noise = torch.randn(4, 8)
        of_d.zero_grad()
        loss = crit(D(torch.randn(4, 16)), torch.ones(4, 1)) + crit(D(G(noise).detach()), torch.zeros(4, 1))
        loss.backward(); of_d.step()
    of_g.zero_grad(); crit(D(G(noise)), torch.ones(4, 1)).backward(); of_g.step()
    gap()
"""
program("GAN", {"train Discriminator": 4, "train Generator": 4}, GAN.replace("N)", "4)").replace("CRITICS", "1"))
program(
    "GAN with critics",
    {"train Discriminator": 40, "train Generator": 8},
    GAN.replace("N)", "8)").replace("CRITICS", "5"),
)

program("forward-forward", {"train Net.first": 3, "train Net.second": 3, "evaluate": 2}, """
of = [sgd(net.first), sgd(net.second)]
h = x
for layer, o in zip((net.first, net.second), of):
    for _ in range(3): o.zero_grad(); layer(h).sum().backward(); o.step()
    h = layer(h).detach()
    gap()
""")

program("two optimizers of one step", {"train": 6}, """
one, two = sgd(net), torch.optim.Adam(net.parameters())
for _ in range(3):
    net(x).sum().backward()
    for o in (one, two): o.step(); o.zero_grad()
    gap()
for _ in range(3):
    one.zero_grad(); two.zero_grad(); net(x).sum().backward(); one.step(); two.step()
""")

program("encoder and decoder", {"predict Net": 3}, """
class Decoder(Net): pass
decoder = Decoder(4).eval()
net.eval()
with torch.no_grad():
    for _ in range(3): decoder(net(x).squeeze()); gap()
""")

program("reinforcement", {"train": 3}, """
o = sgd(net)
for episode in range(3):
    saved = [torch.distributions.Categorical(logits=net(torch.randn(1, 16))).log_prob(torch.tensor([1])) for _ in range(5)]
    o.zero_grad(); torch.cat(saved).sum().backward(); o.step()
    gap()
""")

program("replay", {"train": 4, "evaluate policy": 5}, """
policy, target = Net(), Net()
o = sgd(policy)
for turn in range(5):
    with torch.no_grad(): policy(torch.randn(1, 16))
    if turn == 0: continue
    batch = torch.randn(8, 16)
    now = policy(batch)
    with torch.no_grad(): then = target(batch)
    o.zero_grad(); (now - then).pow(2).sum().backward(); o.step()
""")

# Optimizers that call.

program("closures", {"train": 5}, """
o = torch.optim.LBFGS(net.parameters(), max_iter=4)
def closure():
    o.zero_grad(); loss = F.mse_loss(net(x), torch.zeros(4, 4)); loss.backward(); return loss
for _ in range(2): o.step(closure); gap()
o = sgd(net)
for xs, _ in loader(12):
    def closure(): o.zero_grad(); loss = net(xs).sum(); loss.backward(); return loss
    o.step(closure=closure)
""")

program("optimizers inside of the backward pass", {"train": 3}, """
of = {p: torch.optim.SGD([p], lr=0.01) for p in net.parameters()}
def update(p): of[p].step(); of[p].zero_grad()
for p in net.parameters(): p.register_post_accumulate_grad_hook(update)
for _ in range(3): net(x).sum().backward(); gap()
""")

program("gradients of functions", {"train": 6}, """
from torch.func import functional_call, grad, vmap
def loss(p, s): return functional_call(net, p, (s.unsqueeze(0),)).sum()
for _ in range(3): vmap(grad(loss), in_dims=(None, 0))(dict(net.named_parameters()), x); gap()
for _ in range(3): torch.autograd.grad(net(x).sum(), list(net.parameters()))
""")

program("gradients of the input", {"predict": 3}, """
x.requires_grad_()
for _ in range(3): torch.autograd.grad(net(x).sum(), x); gap()
""")

# Unusual calls.

program("interrupted", {"predict Stop": 4}, """
class Stop(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.is_first = Net(), True
    def forward(self, x):
        out = self.net(x)
        if self.is_first: self.is_first = False; raise KeyboardInterrupt
        return out
stop = Stop().eval()
try: stop(x)
except KeyboardInterrupt: pass
for _ in range(4): stop(x)
""")

program("no parameters at all", {"predict": 3}, """
del net, Net
from jouletree._torch.recorder import installed
installed().has_parameters = False  # The prelude made some.
pool = nn.MaxPool1d(2)
for _ in range(3): pool(torch.randn(2, 2, 8))
""")

program("images in a list", {"predict Detector": 2}, """
class Detector(Net):
    def forward(self, images): return [super(Detector, self).forward(i.mean((1, 2)).repeat(6)[:16]) for i in images]
detector = Detector().eval()
for _ in range(2): detector([torch.randn(3, 8, 8), torch.randn(3, 8, 6)])
""")

program("another library's classes", {"predict Linear": 2}, """
class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_channels, self.weight = 16, nn.Parameter(torch.randn(4, 16))
    def forward(self, x): return F.linear(x, self.weight)
linear = Linear().eval()
for _ in range(2): linear(x)
""")

program("threads", {"predict": 6}, """
from concurrent.futures import ThreadPoolExecutor
net.eval()
with ThreadPoolExecutor(2) as pool: list(pool.map(net, [x] * 6))
""")

program("too many operations", {"train": 3}, """
class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(1, 4)
    def forward(self, x):
        h = c = torch.zeros(2, 4)
        for _ in range(2500): h, c = self.cell(x, (h, c))
        return h
cells = Cells()
o = sgd(cells)
for _ in range(3): o.zero_grad(); cells(torch.randn(2, 1)).sum().backward(); o.step()
""")
