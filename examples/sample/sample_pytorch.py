"""Kineto traces of two ranks that train a small GPT with DistributedDataParallel, as torch.profiler writes them.

Both ranks are simulated: a main thread that runs forward and optimiser, autograd's own thread, one compute stream
and one NCCL stream. Names, nesting, sequence numbers, flows and correlation ids follow what PyTorch does; durations
come from a cost model, and nothing here was recorded.
"""

import contextlib
import json
import random
from dataclasses import dataclass, field

LAYERS = 4
HIDDEN = 768
HEADS = 12
VOCABULARY = 50257
SEQUENCE = 512
BATCH = 4
TOKENS = BATCH * SEQUENCE
STEPS = (3, 4)

FLOPS_PER_NS = 95_000
FLOATS_PER_NS = 190
COMPUTE_STREAM, NCCL_STREAM = 7, 20
BASE_NS = 1_767_225_600_000_000_000  # 1 January 2026: time stamps count from here
START_NS = 1_772_443_800_041_250_317  # 2 March 2026, 09:30 UTC


class Micros(int):
    """Nanoseconds that are written as microseconds with three decimals."""


@dataclass
class Thread:
    """A host thread: its current time and which operators it is inside of."""

    tid: int
    now: int = 0
    external: list[int] = field(default_factory=list)


@dataclass
class Node:
    """A node of the autograd graph: the forward operator that made it and what undoing it takes."""

    kind: str
    sequence: int
    forward_start: int
    kernels: list[tuple[str, str, int]]
    parameters: int


class Rank:
    """One process and its GPU, recording what it does."""

    def __init__(self, rank, collective_ends):
        self.rank = rank
        self.pid = 4242 + rank
        self.rng = random.Random(100 + rank)
        self.main = Thread(self.pid, now=rank * 61_337)
        self.autograd = Thread(self.pid + 70)
        self.streams = {COMPUTE_STREAM: 0, NCCL_STREAM: 0}
        self.collective_ends = collective_ends
        self.collective_starts = []
        self.events = []
        self.activity = []
        self.sequence = 840
        self.external = self.correlation = self.flow = 0
        self.tape = []

    # Recording ------------------------------------------------------------------------------------------------

    def pause(self, thread, nanos):
        thread.now += int(nanos * self.rng.uniform(0.75, 1.35))

    def record(self, category, name, pid, tid, start, end, arguments):
        self.events.append(
            (
                start,
                -end,
                {
                    "ph": "X",
                    "cat": category,
                    "name": name,
                    "pid": pid,
                    "tid": tid,
                    "ts": Micros(START_NS - BASE_NS + start),
                    "dur": Micros(end - start),
                    "args": arguments,
                },
            )
        )

    def arrow(self, phase, kind, number, pid, tid, at):
        event = {"ph": phase, "id": number, "pid": pid, "tid": tid, "ts": Micros(START_NS - BASE_NS + at)}
        event |= {"cat": kind, "name": kind} | ({"bp": "e"} if phase == "f" else {})
        self.events.append((at, 0, event))

    @contextlib.contextmanager
    def span(self, thread, category, name, **arguments):
        """An operator or annotation around whatever is recorded inside it."""
        self.external += 1
        external = self.external
        thread.external.append(external)
        start = thread.now
        self.pause(thread, 1_100)
        yield start
        self.pause(thread, 600)
        thread.external.pop()
        extra = {key.replace("_", " "): value for key, value in arguments.items()}
        self.record(
            category,
            name,
            self.pid,
            thread.tid,
            start,
            thread.now,
            {
                "External id": external,
                "Record function id": 0,
                **extra,
                "Ev Idx": external - 1,
            },
        )

    def forward(self, name, saves=None, undo=(), parameters=0, **arguments):
        """A forward operator. If autograd `saves` a node for it, that node takes the current sequence number."""
        span = self.span(
            self.main, "cpu_op", name, **{"Sequence number": self.sequence, "Fwd thread id": 0}, **arguments
        )
        if saves:
            self.tape.append(Node(saves, self.sequence, self.main.now, list(undo), parameters))
            self.sequence += 1
        return span

    def operator(self, thread, name, **arguments):
        return self.span(thread, "cpu_op", name, **arguments)

    def module(self, name):
        return self.span(self.main, "user_annotation", f"module::{name}")

    def launch(self, thread, call, category, name, nanos, stream=COMPUTE_STREAM, **details):
        """Calls the CUDA runtime, which starts something on a stream when that is free."""
        self.correlation += 1
        correlation, external = self.correlation, thread.external[-1]
        start = thread.now
        self.pause(thread, 4_200)
        self.record(
            "cuda_runtime",
            call,
            self.pid,
            thread.tid,
            start,
            thread.now,
            {
                "External id": external,
                "cbid": 211,
                "correlation": correlation,
            },
        )
        begin = max(self.streams[stream], thread.now + 1_800) + 700
        end = begin + max(1_200, int(nanos * self.rng.uniform(0.96, 1.06)))
        if stream == NCCL_STREAM:
            turn = len(self.collective_starts)
            self.collective_starts.append((begin, end - begin))
            end = self.collective_ends.get(turn, end)
        self.streams[stream] = end
        self.record(
            category,
            name,
            self.rank,
            stream,
            begin,
            end,
            {
                "External id": external,
                "device": self.rank,
                "context": 1,
                "stream": stream,
                "correlation": correlation,
                **details,
            },
        )
        self.arrow("s", "ac2g", correlation, self.pid, thread.tid, start)
        self.arrow("f", "ac2g", correlation, self.rank, stream, begin)
        self.activity.append((begin, end, heat(name)))

    def kernel(self, thread, name, nanos, **details):
        self.launch(
            thread, "cudaLaunchKernel", "kernel", name, nanos, grid=[96, 1, 1], block=[256, 1, 1], **details
        )

    # Forward --------------------------------------------------------------------------------------------------

    def linear(self, width, out, rows=TOKENS, bias=True):
        nanos = 2 * rows * width * out / FLOPS_PER_NS
        product = "aten::addmm" if bias else "aten::mm"
        with self.forward("aten::linear", Input_Dims=[[BATCH, SEQUENCE, width], [out, width]]):
            with self.forward("aten::t", saves="TBackward0", parameters=1, Input_Dims=[[out, width]]):
                with self.operator(self.main, "aten::transpose"):
                    self.pause(self.main, 500)
            undo = [("aten::mm", GEMM_NN, nanos), ("aten::mm", GEMM_NT, nanos)]
            if bias:
                undo.append(("aten::sum", REDUCE, rows * out / FLOATS_PER_NS))
            saves = "AddmmBackward0" if bias else "MmBackward0"
            dims = [[rows, width], [width, out]]
            with self.forward(product, saves=saves, undo=undo, parameters=int(bias), Input_Dims=dims):
                self.kernel(self.main, GEMM_TN, nanos)

    def pointwise(self, name, saves, kernel, floats, undo, parameters=0):
        with self.forward(name, saves=saves, undo=undo, parameters=parameters):
            self.kernel(self.main, kernel, floats / FLOATS_PER_NS)

    def layer_norm(self):
        floats = 3 * TOKENS * HIDDEN
        with self.forward("aten::layer_norm"):
            undo = [("aten::native_layer_norm_backward", LAYER_NORM_BACKWARD, 2 * floats / FLOATS_PER_NS)]
            self.pointwise(
                "aten::native_layer_norm", "NativeLayerNormBackward0", LAYER_NORM, floats, undo, parameters=2
            )

    def residual(self):
        self.pointwise("aten::add", "AddBackward0", ADD, 3 * TOKENS * HIDDEN, [])

    def attention(self):
        nanos = 4 * BATCH * SEQUENCE * SEQUENCE * HIDDEN / FLOPS_PER_NS
        with self.forward(
            "aten::split", saves="SplitBackward0", undo=[("aten::cat", COPY, 6 * TOKENS * HIDDEN / FLOATS_PER_NS)]
        ):
            self.pause(self.main, 1_500)
        with self.forward("aten::scaled_dot_product_attention"):
            undo = [("aten::_flash_attention_backward", FLASH_BACKWARD, 2.5 * nanos)]
            saves = "ScaledDotProductFlashAttentionBackward0"
            with self.forward("aten::_scaled_dot_product_flash_attention", saves=saves, undo=undo):
                with self.operator(self.main, "aten::_flash_attention_forward"):
                    self.kernel(self.main, FLASH, nanos)

    def block(self, name):
        wide = TOKENS * 4 * HIDDEN
        with self.module(name):
            with self.module(f"{name}.ln_1"):
                self.layer_norm()
            with self.module(f"{name}.attn"):
                with self.module(f"{name}.attn.c_attn"):
                    self.linear(HIDDEN, 3 * HIDDEN)
                self.attention()
                with self.module(f"{name}.attn.c_proj"):
                    self.linear(HIDDEN, HIDDEN)
            self.residual()
            with self.module(f"{name}.ln_2"):
                self.layer_norm()
            with self.module(f"{name}.mlp"):
                with self.module(f"{name}.mlp.c_fc"):
                    self.linear(HIDDEN, 4 * HIDDEN)
                with self.module(f"{name}.mlp.act"):
                    undo = [("aten::gelu_backward", GELU_BACKWARD, 3 * wide / FLOATS_PER_NS)]
                    self.pointwise("aten::gelu", "GeluBackward0", GELU, 2 * wide, undo)
                with self.module(f"{name}.mlp.c_proj"):
                    self.linear(4 * HIDDEN, HIDDEN)
            self.residual()

    def model(self):
        floats = 2 * TOKENS * HIDDEN
        with self.module("(root)"), self.module("transformer"):
            for table in ("wte", "wpe"):
                with self.module(f"transformer.{table}"):
                    undo = [("aten::embedding_dense_backward", EMBEDDING_BACKWARD, 2 * floats / FLOATS_PER_NS)]
                    self.pointwise("aten::embedding", "EmbeddingBackward0", EMBEDDING, floats, undo, parameters=1)
            self.residual()
            for layer in range(LAYERS):
                self.block(f"transformer.h.{layer}")
            with self.module("transformer.ln_f"):
                self.layer_norm()
        with self.module("lm_head"):
            self.linear(HIDDEN, VOCABULARY, bias=False)
        logits = TOKENS * VOCABULARY
        with self.forward("aten::cross_entropy_loss"):
            undo = [("aten::_log_softmax_backward_data", SOFTMAX_BACKWARD, 3 * logits / FLOATS_PER_NS)]
            self.pointwise("aten::log_softmax", "LogSoftmaxBackward0", SOFTMAX, 2 * logits, undo)
            undo = [("aten::nll_loss_backward", NLL_BACKWARD, logits / FLOATS_PER_NS)]
            self.pointwise("aten::nll_loss_nd", "NllLossBackward0", NLL, TOKENS, undo)

    # Backward, optimiser, step --------------------------------------------------------------------------------

    def backward(self):
        """Undoes the tape on autograd's thread; every few parameters a bucket of gradients is reduced."""
        thread = self.autograd
        thread.now = self.main.now
        self.pause(thread, 40_000)
        pending = 0
        for node in reversed(self.tape):
            ids = {"Sequence number": node.sequence, "Fwd thread id": 1}
            with self.operator(thread, f"autograd::engine::evaluate_function: {node.kind}", **ids):
                with self.operator(thread, node.kind, **ids) as start:
                    self.flow += 1
                    self.arrow("s", "fwdbwd", self.flow, self.pid, self.main.tid, node.forward_start)
                    self.arrow("f", "fwdbwd", self.flow, self.pid, thread.tid, start)
                    for name, kernel, nanos in node.kernels:
                        with self.operator(thread, name):
                            if name == "aten::embedding_dense_backward":
                                self.launch(
                                    thread,
                                    "cudaMemsetAsync",
                                    "gpu_memset",
                                    "Memset (Device)",
                                    9_000,
                                    bytes=4 * VOCABULARY * HIDDEN,
                                )
                            self.kernel(thread, kernel, nanos)
                    if node.kind == "TBackward0":
                        with self.operator(thread, "aten::t"):
                            self.pause(thread, 400)
            for _ in range(node.parameters):
                accumulate = "torch::autograd::AccumulateGrad"
                with self.operator(thread, f"autograd::engine::evaluate_function: {accumulate}"):
                    with self.operator(thread, accumulate):
                        self.pause(thread, 900)
            pending += node.parameters
            if pending >= 16:
                self.all_reduce(thread)
                pending = 0
        self.all_reduce(thread)
        self.tape.clear()
        self.main.now = thread.now
        self.pause(self.main, 25_000)

    def all_reduce(self, thread):
        elements = 9_437_184
        with self.operator(thread, "c10d::allreduce_"):
            details = {
                "Collective_name": "allreduce",
                "In_msg_nelems": elements,
                "Group_size": 2,
                "dtype": "Float",
            }
            with self.operator(thread, "record_param_comms", **details):
                with self.span(thread, "user_annotation", "nccl:all_reduce"):
                    # The bucket is complete only when the compute stream has produced it.
                    self.streams[NCCL_STREAM] = max(self.streams[NCCL_STREAM], self.streams[COMPUTE_STREAM])
                    call = ("cudaLaunchKernelExC", "kernel", ALL_REDUCE, 1_250_000)
                    self.launch(thread, *call, stream=NCCL_STREAM, grid=[8, 1, 1], block=[544, 1, 1])

    def optimizer(self):
        parameters = 12 * LAYERS * HIDDEN * HIDDEN + VOCABULARY * HIDDEN
        self.streams[COMPUTE_STREAM] = max(self.streams.values())
        with self.span(self.main, "user_annotation", "Optimizer.step#AdamW.step"):
            for name, passes in [
                ("mul_", 2),
                ("lerp_", 3),
                ("mul_", 2),
                ("addcmul_", 3),
                ("sqrt", 2),
                ("div_", 3),
                ("addcdiv_", 4),
            ]:
                with self.operator(self.main, f"aten::_foreach_{name}"):
                    self.pause(self.main, 18_000)
                    self.kernel(
                        self.main, FOREACH.format(name.strip("_")), passes * parameters / FLOATS_PER_NS / 4
                    )
        with self.span(self.main, "user_annotation", "Optimizer.zero_grad#AdamW.zero_grad"):
            self.pause(self.main, 30_000)

    def copy(self, name, call, direction, size, nanos):
        with self.operator(self.main, name), self.operator(self.main, "aten::copy_"):
            self.launch(self.main, call, "gpu_memcpy", f"Memcpy {direction}", nanos, bytes=size)

    def step(self, number):
        begin = self.main.now
        with self.span(self.main, "user_annotation", f"ProfilerStep#{number}"):
            self.copy("aten::to", "cudaMemcpyAsync", "HtoD (Pinned -> Device)", 8 * TOKENS, 3_000)
            self.model()
            self.backward()
            self.optimizer()
            with self.operator(self.main, "aten::item"):
                self.copy("aten::_local_scalar_dense", "cudaMemcpyAsync", "DtoH (Device -> Pageable)", 4, 1_500)
                self.correlation += 1
                start, end = self.main.now, max(self.streams.values()) + 5_000
                self.main.now = max(start + 3_000, end)
                self.record(
                    "cuda_runtime",
                    "cudaStreamSynchronize",
                    self.pid,
                    self.main.tid,
                    start,
                    self.main.now,
                    {
                        "External id": self.main.external[-1],
                        "cbid": 131,
                        "correlation": self.correlation,
                    },
                )
        self.record(
            "gpu_user_annotation",
            f"ProfilerStep#{number}",
            self.rank,
            COMPUTE_STREAM,
            begin + 20_000,
            self.main.now,
            {"External id": self.main.external[-1] if self.main.external else 0},
        )
        self.pause(self.main, 350_000)

    # Writing --------------------------------------------------------------------------------------------------

    def trace(self):
        """The trace file, one event a line."""
        self.record(
            "Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", 0, self.main.now, {"Op count": 0}
        )
        head = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": device, "name": "Simulated GPU", "numSms": 96} for device in (0, 1)],
            "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": 2},
            "trace_id": f"{'5EED':0>30}{self.rank:02d}",
            "record_shapes": 1,
            "host_name": "sample",
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": BASE_NS,
        }
        names = [
            (self.pid, 0, "process_name", {"name": "python"}),
            (self.pid, 0, "process_labels", {"labels": "CPU"}),
        ]
        names += [(device, 0, "process_labels", {"labels": f"GPU {device}"}) for device in (0, 1)]
        names += [
            (self.pid, thread.tid, "thread_name", {"name": f"thread {thread.tid} (python)"})
            for thread in (self.main, self.autograd)
        ]
        names += [(self.rank, stream, "thread_name", {"name": f"stream {stream}"}) for stream in self.streams]
        zero = Micros(START_NS - BASE_NS)
        events = [
            {"ph": "M", "name": name, "ts": zero, "pid": pid, "tid": tid, "args": arguments}
            for pid, tid, name, arguments in names
        ]
        events += [event for _, _, event in sorted(self.events, key=lambda item: item[:2])]
        lines = [f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items()]
        body = ",\n".join(f"  {text(event)}" for event in events)
        return (
            "{\n"
            + "".join(lines)
            + f'  "traceEvents": [\n{body}\n  ],\n  "traceName": "rank{self.rank}.json"\n}}\n'
        )


def text(event):
    """An event as JSON, with its times as exact decimals."""

    def value(item):
        return f"{item // 1000}.{item % 1000:03d}" if isinstance(item, Micros) else json.dumps(item)

    return "{" + ", ".join(f'"{key}": {value(item)}' for key, item in event.items()) + "}"


GEMM_TN = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
GEMM_NN = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn"
GEMM_NT = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nt"
FLASH = "void pytorch_flash::flash_fwd_kernel<64, 128, 128, 4>(pytorch_flash::Flash_fwd_params)"
FLASH_BACKWARD = (
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<64, 128, 128, 8>(pytorch_flash::Flash_bwd_params)"
)
LAYER_NORM = (
    "void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*)"
)
LAYER_NORM_BACKWARD = (
    "void at::native::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>(c10::BFloat16 const*)"
)
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16> >(int)"
GELU = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>(int)"
GELU_BACKWARD = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl>(int)"
COPY = "void at::native::CatArrayBatchedCopy<c10::BFloat16, unsigned int, 3, 64, 64>(c10::BFloat16*)"
REDUCE = "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, sum_functor> >(int)"
EMBEDDING = (
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)"
)
EMBEDDING_BACKWARD = "void at::native::compute_grad_weight<c10::BFloat16, long>(long const*, c10::BFloat16 const*)"
SOFTMAX = "void at::native::cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16>(c10::BFloat16*)"
SOFTMAX_BACKWARD = "void at::native::cunn_SoftMaxBackward<8, c10::BFloat16, float, c10::BFloat16>(c10::BFloat16*)"
NLL = "void at::native::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*, float*, float const*)"
NLL_BACKWARD = (
    "void at::native::nll_loss_backward_reduce_cuda_kernel_2d<float, long>(float*, float const*, long const*)"
)
FOREACH = "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<2>, {}_functor<float> >(int)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def heat(kernel):
    """The watts a kernel adds to its GPU's idle power."""
    if "gemm" in kernel or "flash" in kernel:
        return 265
    return 55 if "nccl" in kernel or kernel.startswith("Mem") else 150


def ranks():
    """Both ranks, with every collective ending for both at once, when the later one has joined and the data is across."""
    ends = {}
    while True:
        both = [Rank(number, ends) for number in (0, 1)]
        for rank in both:
            for number in STEPS:
                rank.step(number)
        joined = zip(*(rank.collective_starts for rank in both), strict=True)
        agreed = {turn: max(begin for begin, _ in starts) + 1_250_000 for turn, starts in enumerate(joined)}
        if agreed == ends:
            return both
        ends = agreed
