"""Processes that are started anew import the patched file again."""
# alone
import multiprocessing

import torch


def work(seed):
    generator = torch.Generator().manual_seed(seed)
    return round(torch.rand(1, generator=generator).item(), 4)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        parallel = pool.map(work, [1, 2])
    print(parallel == [work(1), work(2)], parallel)
    torch.set_num_threads(1)
