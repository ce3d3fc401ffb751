"""Coroutines, queues and asynchronous context managers."""
import asyncio

import torch


class Batcher:
    def __init__(self, size):
        self.size = size
        self.queue = None

    async def __aenter__(self):
        self.queue = asyncio.Queue()
        return self

    async def __aexit__(self, *error):
        return None

    async def batches(self):
        for i in range(self.size):
            await asyncio.sleep(0)
            yield torch.full((2,), float(i))


async def work(tensor):
    await asyncio.sleep(0)
    return torch.sum(tensor * 2)


async def main():
    results = []
    async with Batcher(3) as batcher:
        async for batch in batcher.batches():
            results.append((await work(batch)).item())
    gathered = await asyncio.gather(*(work(torch.ones(n)) for n in (1, 2)))
    return results, [t.item() for t in gathered], [torch.numel(t) async for t in Batcher(2).batches()]


print(asyncio.run(main()))
