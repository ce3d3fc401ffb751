//! The scripts of a training step: two spaces of indentation are one level of nesting, `> N` makes the autograd node
//! N, `! k` launches the kernel k, `@s` means another snippet. Letters are tensors.

/// A layer of the model, `{}` being its number.
pub(super) const LAYER: &str = "
module::bert.encoder.layer.{}
  module::bert.encoder.layer.{}.attention
    module::bert.encoder.layer.{}.attention.self
      module::bert.encoder.layer.{}.attention.self.query
        @linear
      @heads
      module::bert.encoder.layer.{}.attention.self.key
        @linear
      @heads
      module::bert.encoder.layer.{}.attention.self.value
        @linear
      @heads
      aten::scaled_dot_product_attention h h h _ 0.10000000000000001 False 0.125 False
        aten::_scaled_dot_product_attention_math h h h _ 0.10000000000000001 False _ 0.125 False
          @scale
          aten::transpose h -2 -1 > TransposeBackward0
            aten::as_strided h [32,12,64,128] [98304,64,1,768] _
          @scale
          @matmul
          aten::_safe_softmax s -1 _ > SafeSoftmaxBackward0
            aten::softmax s -1 _
              aten::_softmax s -1 False ! softmax
            aten::isneginf s
            aten::all s -1 True
              aten::fill_ s 1.
            aten::where s t s
          @dropout
          @matmul
      aten::transpose h 1 2 > TransposeBackward0
        aten::as_strided h [32,128,12,64] [98304,64,8192,1] _
      aten::contiguous h 0
        @clone
      aten::reshape x [32,128,-1]
        aten::view x [32,128,768] > ViewBackward0
    module::bert.encoder.layer.{}.attention.output
      module::bert.encoder.layer.{}.attention.output.dense
        @linear
      module::bert.encoder.layer.{}.attention.output.dropout
        @dropout
      aten::add x x 1 > AddBackward0 ! elementwise
      module::bert.encoder.layer.{}.attention.output.LayerNorm
        @norm
  module::bert.encoder.layer.{}.intermediate
    module::bert.encoder.layer.{}.intermediate.dense
      @linear
    module::bert.encoder.layer.{}.intermediate.intermediate_act_fn
      aten::gelu x _ > GeluBackward0 ! elementwise
  module::bert.encoder.layer.{}.output
    module::bert.encoder.layer.{}.output.dense
      @linear
    module::bert.encoder.layer.{}.output.dropout
      @dropout
    aten::add x x 1 > AddBackward0 ! elementwise
    module::bert.encoder.layer.{}.output.LayerNorm
      @norm
";

/// What the optimizer does to one parameter.
pub(super) const UPDATE: &str = "
aten::add_ t d 1
  @number
aten::mul_ PARAMETER d ! elementwise
  @number
aten::lerp_ PARAMETER PARAMETER 0.099999999999999978 ! elementwise
aten::mul_ PARAMETER d ! elementwise
  @number
aten::addcmul_ PARAMETER PARAMETER PARAMETER 0.0010000000000000009 ! elementwise
aten::item t
  aten::_local_scalar_dense t
aten::sqrt PARAMETER ! elementwise
aten::div PARAMETER d ! elementwise
  @number
aten::add_ PARAMETER d 1 ! elementwise
  @number
aten::addcdiv_ PARAMETER PARAMETER PARAMETER -0.00019167990376135397 ! elementwise
";

/// The snippet that scripts call `name`; nothing if there is none.
pub(super) fn snippet(name: &str) -> &'static str {
    match name {
        "linear" => LINEAR,
        "heads" => HEADS,
        "scale" => SCALE,
        "matmul" => MATMUL,
        "clone" => CLONE,
        "dropout" => DROPOUT,
        "norm" => NORM,
        "number" => NUMBER,
        _ => "",
    }
}

/// What runs inside the backward node of this name.
pub(super) fn backward_of(node: &str) -> &'static str {
    match node {
        "AddmmBackward0" => ADDMM_BACKWARD,
        "TBackward0" => TRANSPOSED,
        "BmmBackward0" => BMM_BACKWARD,
        "TransposeBackward0" => "aten::transpose h 1 2\n  aten::as_strided h [32,12,128,64] [98304,64,768,1] _",
        "MulBackward0" => "aten::mul x x ! elementwise",
        "GeluBackward0" => "aten::gelu_backward x x _ ! elementwise",
        "SafeSoftmaxBackward0" => "aten::_softmax_backward_data s s -1 6 ! softmax",
        "NativeLayerNormBackward0" => NORM_BACKWARD,
        "AddBackward0" => "",
        _ => "aten::reshape y [4096,768]\n  aten::view y [4096,768]",
    }
}

/// How many parameters take their gradient right after the node of this name.
pub(super) fn parameters_of(node: &str) -> usize {
    match node {
        "AddmmBackward0" | "TBackward0" => 1,
        "NativeLayerNormBackward0" => 2,
        _ => 0,
    }
}

const LINEAR: &str = "
aten::linear x w b
  aten::view x [4096,768] > ViewBackward0
  aten::t w > TBackward0
    aten::transpose w 0 1
      aten::as_strided w [768,768] [1,768] _
  aten::addmm b y w 1 1 > AddmmBackward0 ! gemm
    aten::expand b [4096,768] False
      aten::as_strided b [4096,768] [0,1] _
    aten::copy_ y y False
    aten::resolve_conj y
    aten::resolve_conj w
  aten::_unsafe_view y [32,128,768] > UnsafeViewBackward0
";

const HEADS: &str = "
aten::view x [32,128,-1,64] > ViewBackward0
aten::transpose h 1 2 > TransposeBackward0
  aten::as_strided h [32,12,128,64] [98304,64,768,1] _
";

const SCALE: &str = "
aten::mul h t > MulBackward0 ! elementwise
  aten::mul h d
    @number
";

const MATMUL: &str = "
aten::matmul h h
  aten::expand h [32,12,128,64] False
    aten::as_strided h [32,12,128,64] [98304,64,768,1] _
  aten::reshape h [384,128,64]
    @clone
    aten::_unsafe_view h [384,128,64] > UnsafeViewBackward0
  aten::bmm g g > BmmBackward0 ! gemm
    aten::resolve_conj g
    aten::resolve_conj g
  aten::_unsafe_view g [32,12,128,128] > UnsafeViewBackward0
";

const CLONE: &str = "
aten::clone h 0
  aten::empty_like h 6 0 _ False 0
    aten::empty [32,12,128,64] 6 0 _ False 0
  aten::copy_ h h False ! elementwise
";

const DROPOUT: &str = "
aten::dropout x 0.10000000000000001 True
  aten::empty_like x 6 _ _ _ _
    aten::empty_strided [32,128,768] [98304,768,1] 6 0 _ _
  aten::bernoulli_ x 0.90000000000000002 _ ! elementwise
  aten::div_ x t
    aten::div_ x d ! elementwise
      @number
  aten::mul x x > MulBackward0 ! elementwise
";

const NORM: &str = "
aten::layer_norm x [768] b b 9.9999999999999998e-13 True
  aten::native_layer_norm x [768] b b 9.9999999999999998e-13 > NativeLayerNormBackward0 ! norm
    aten::empty [32,128,768] 6 0 _ _ 0
    aten::empty [4096] 6 0 _ _ _
    aten::empty [4096] 6 0 _ _ _
    aten::view y [32,128,1]
    aten::view y [32,128,1]
";

const NUMBER: &str = "
aten::to d 6 False False _
  aten::_to_copy d 6 _ _ _ False _
    aten::empty_strided [] [] 6 0 _ _
    aten::copy_ t d False
";

const TRANSPOSED: &str = "
aten::t w
  aten::transpose w 0 1
    aten::as_strided w [768,768] [1,768] _
";

const ADDMM_BACKWARD: &str = "
aten::t w
  aten::transpose w 0 1
    aten::as_strided w [768,768] [1,768] _
aten::mm y w ! gemm
  aten::resolve_conj y
  aten::resolve_conj w
  aten::resolve_conj y
aten::t y
  aten::transpose y 0 1
    aten::as_strided y [768,4096] [1,768] _
aten::mm y y ! gemm
  aten::resolve_conj y
  aten::resolve_conj y
aten::sum y [0] True _ ! reduce
  aten::fill_ b 0
aten::view b [768]
";

const BMM_BACKWARD: &str = "
aten::transpose g 1 2
  aten::as_strided g [384,64,128] [8192,1,64] _
aten::bmm g g ! gemm
  aten::resolve_conj g
  aten::resolve_conj g
aten::transpose g 1 2
  aten::as_strided g [384,64,128] [8192,1,64] _
aten::bmm g g ! gemm
  aten::resolve_conj g
  aten::resolve_conj g
";

const NORM_BACKWARD: &str = "
aten::native_layer_norm_backward x x [768] y y b b [True,True,True] ! norm
  aten::empty [32,128,768] 6 0 _ _ 0
  aten::empty [768] 6 0 _ _ 0
  aten::empty [768] 6 0 _ _ 0
  aten::resize_ b [768] _
  aten::zero_ b
c10d::allreduce_ b ! nccl
";
