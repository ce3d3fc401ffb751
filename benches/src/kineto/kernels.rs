//! The kernels of the generated GPU traces.

/// A kernel of the GPU.
pub(super) struct Kernel {
    /// What scripts call it.
    pub(super) key: &'static str,
    pub(super) name: &'static str,
    pub(super) stream: u32,
    /// The longest it runs, in nanoseconds.
    pub(super) longest: i64,
}

/// The kernels that scripts know.
pub(super) static KERNELS: [Kernel; 6] = [
    Kernel { key: "gemm", name: "ampere_sgemm_128x64_tn", stream: 7, longest: 90_000 },
    Kernel {
        key: "elementwise",
        name: "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, \
               at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int, \
               at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, \
               std::array<char*, 3ul>)",
        stream: 7,
        longest: 12_000,
    },
    Kernel {
        key: "norm",
        name: "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, \
               float const*, float const*, float const*, float*, float*, float*)",
        stream: 7,
        longest: 20_000,
    },
    Kernel {
        key: "softmax",
        name: "void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, false, false>(float*, \
               float const*, int, int, int, bool const*, int, bool)",
        stream: 7,
        longest: 30_000,
    },
    Kernel {
        key: "reduce",
        name: "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, \
               at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()\
               (at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >",
        stream: 7,
        longest: 15_000,
    },
    Kernel { key: "nccl", name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream: 20, longest: 150_000 },
];
