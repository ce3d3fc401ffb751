//! What is known of frameworks beyond their names: who compiles functions instead of running them, which results are no
//! longer the library's, and what a chain of calls still is.

/// Functions that compile or trace what they are given, wherever they are decorators or called.
const TRACERS: &[&str] = &[
    "tensorflow.function",
    "tensorflow.autograph.to_graph",
    "tensorflow.vectorized_map",
    "tensorflow.compat.v1.wrap_function",
    "tensorflow.estimator.Estimator",
    "tensorflow.compat.v1.estimator.Estimator",
    "keras.layers.Lambda",
    "tensorflow.keras.layers.Lambda",
    "jax.jit",
    "jax.pjit",
    "jax.pmap",
    "jax.vmap",
    "jax.grad",
    "jax.value_and_grad",
    "jax.jacfwd",
    "jax.jacrev",
    "jax.jacobian",
    "jax.hessian",
    "jax.vjp",
    "jax.jvp",
    "jax.linearize",
    "jax.checkpoint",
    "jax.remat",
    "jax.eval_shape",
    "jax.make_jaxpr",
    "jax.custom_vjp",
    "jax.custom_jvp",
    "jax.lax.scan",
    "jax.lax.map",
    "jax.lax.cond",
    "jax.lax.switch",
    "jax.lax.while_loop",
    "jax.lax.fori_loop",
    "jax.lax.associative_scan",
    "jax.experimental.pjit.pjit",
    "jax.experimental.shard_map.shard_map",
    "jax.shard_map",
    "flax.linen.jit",
    "flax.linen.compact",
    "flax.nnx.jit",
    "flax.nnx.grad",
    "flax.nnx.value_and_grad",
    "equinox.filter_jit",
    "equinox.filter_grad",
    "equinox.filter_value_and_grad",
    "torch.compile",
    "torch.jit.script",
    "torch.jit.trace",
    "torch.export.export",
    "torch.fx.symbolic_trace",
    "torch.vmap",
    "torch.func.vmap",
    "torch.func.grad",
    "torch.func.functional_call",
    "numba.jit",
    "numba.njit",
];

/// Methods of tf.data that trace the functions they are given.
const DATASET_CALLBACKS: &[&str] = &[
    "map",
    "filter",
    "flat_map",
    "interleave",
    "reduce",
    "scan",
    "take_while",
    "group_by_window",
    "bucket_by_sequence_length",
    "rejection_resample",
    "apply",
];

/// Methods of a dataset whose result is no dataset.
const NOT_DATASETS: &[&str] =
    &["as_numpy_iterator", "get_single_element", "reduce", "cardinality", "save", "__iter__", "options"];

/// Methods of subclasses that Keras calls while it traces.
const KERAS_TRACED: &[&str] = &[
    "call",
    "build",
    "train_step",
    "test_step",
    "predict_step",
    "compute_loss",
    "compute_metrics",
    "compute_output_shape",
    "update_state",
    "result",
    "reset_state",
];

/// Functions and methods whose results are Python's or NumPy's own, whatever module they come from.
const PLAIN_RESULTS: &[&str] = &[
    "numpy",
    "item",
    "tolist",
    "as_list",
    "tobytes",
    "as_numpy_iterator",
    "get_config",
    "to_json",
    "to_yaml",
    "get_weights",
    "load_data",
    "get_file",
    "predict",
    "predict_on_batch",
    "evaluate",
    "train_on_batch",
    "test_on_batch",
    "count_params",
    "numel",
    "dim",
    "ndimension",
    "nelement",
    "size",
    "data_ptr",
    "is_available",
    "device_count",
    "get_device_name",
    "device_get",
    "manual_seed",
    "set_seed",
    "summary",
    "convert_to_numpy",
    "to_categorical",
    "pad_sequences",
    "img_to_array",
    "list_physical_devices",
    "list_logical_devices",
    "executing_eagerly",
    "get_vocabulary",
    "vocabulary_size",
    "ndim",
    "get_inputs",
    "get_outputs",
    "get_providers",
];

/// Attributes that are Python's own.
const PLAIN_ATTRIBUTES: &[&str] = &[
    "history",
    "epoch",
    "name",
    "__name__",
    "__version__",
    "__doc__",
    "__dict__",
    "ndim",
    "params",
    "metrics_names",
];

/// The types of tensors.
const TENSORS: &[&str] = &["torch.Tensor", "tensorflow.Tensor", "jax.Array"];

/// What containers have and tensors have not.
const NO_TENSORS: &[&str] = &["append", "extend", "get", "insert", "items", "keys", "pop", "update"];

/// Methods of PyTorch's modules that give the module itself.
const GIVES_ITSELF: &[&str] = &[
    "apply",
    "bfloat16",
    "cpu",
    "cuda",
    "double",
    "eval",
    "float",
    "half",
    "requires_grad_",
    "share_memory",
    "to",
    "to_empty",
    "train",
    "type",
    "xpu",
];

/// Where PyTorch's modules are, and what is there beside them.
const TORCH_MODULES: &[&str] = &["torch.nn.", "torchvision.models.", "torchaudio.models."];
const NO_TORCH_MODULES: &[&str] =
    &["torch.nn.functional.", "torch.nn.init.", "torch.nn.utils.", "torch.nn.Parameter"];

/// What registers a function that PyTorch calls with tensors.
const TORCH_HOOKS: &[&str] = &[
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_backward_hook",
    "register_hook",
];

/// What runs a function by itself.
const THREADS: &[&str] = &[
    "threading.Thread",
    "threading.Timer",
    "multiprocessing.Process",
    "torch.multiprocessing.Process",
    "multiprocessing.get_context.Process",
    "torch.multiprocessing.get_context.Process",
];

/// Foreign functions that hand on what they are given, or something with the same elements.
const HANDS_ON: &[&str] = &[
    "copy.copy",
    "copy.deepcopy",
    "tqdm.tqdm",
    "tqdm.auto.tqdm",
    "tqdm.notebook.tqdm",
    "itertools.islice",
    "itertools.cycle",
    "itertools.takewhile",
    "concurrent.futures.as_completed",
    "contextlib.closing",
    "contextlib.nullcontext",
    "asyncio.run",
    "asyncio.create_task",
    "asyncio.ensure_future",
    "asyncio.wait_for",
    "asyncio.shield",
    "functools.partial",
    "functools.lru_cache",
    "functools.cache",
    "functools.wraps",
    "weakref.proxy",
];

/// Parts of libraries whose functions, all in small letters, give tensors.
const TENSOR_MODULES: &[(&str, &str)] = &[
    ("torch.nn.functional.", "torch.Tensor"),
    ("torch.linalg.", "torch.Tensor"),
    ("torch.fft.", "torch.Tensor"),
    ("torch.special.", "torch.Tensor"),
    ("torch.Tensor.", "torch.Tensor"),
    ("tensorflow.math.", "tensorflow.Tensor"),
    ("tensorflow.nn.", "tensorflow.Tensor"),
    ("tensorflow.linalg.", "tensorflow.Tensor"),
    ("tensorflow.random.", "tensorflow.Tensor"),
    ("tensorflow.image.", "tensorflow.Tensor"),
    ("tensorflow.signal.", "tensorflow.Tensor"),
    ("tensorflow.strings.", "tensorflow.Tensor"),
    ("jax.numpy.", "jax.Array"),
    ("jax.nn.", "jax.Array"),
    ("jax.random.", "jax.Array"),
    ("jax.Array.", "jax.Array"),
    ("jax.lax.", "jax.Array"),
];

/// Functions of `torch` and `tensorflow` themselves that give tensors.
const TENSOR_FUNCTIONS: &[&str] = &[
    "abs",
    "add",
    "add_n",
    "arange",
    "argmax",
    "argmin",
    "as_tensor",
    "bmm",
    "broadcast_to",
    "cast",
    "cat",
    "clamp",
    "clip_by_value",
    "concat",
    "constant",
    "convert_to_tensor",
    "cos",
    "cumsum",
    "diag",
    "divide",
    "einsum",
    "empty",
    "equal",
    "exp",
    "expand_dims",
    "eye",
    "fill",
    "flatten",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "identity",
    "index_select",
    "linspace",
    "log",
    "logsumexp",
    "masked_select",
    "matmul",
    "maximum",
    "mean",
    "minimum",
    "mm",
    "mul",
    "multinomial",
    "multiply",
    "neg",
    "norm",
    "normal",
    "one_hot",
    "ones",
    "ones_like",
    "outer",
    "permute",
    "pow",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "range",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "relu",
    "reshape",
    "round",
    "scatter",
    "sigmoid",
    "sign",
    "sin",
    "softmax",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "subtract",
    "sum",
    "tanh",
    "tensor",
    "tensordot",
    "tile",
    "transpose",
    "tril",
    "triu",
    "unsqueeze",
    "var",
    "where",
    "zeros",
    "zeros_like",
];

/// Methods that nearly always are a framework's, for receivers of which nothing is known.
const TELLING_METHODS: &[&str] = &[
    "apply_gradients",
    "backward",
    "compile",
    "eval",
    "evaluate",
    "fit",
    "load_state_dict",
    "load_weights",
    "parameters",
    "predict",
    "save_weights",
    "state_dict",
    "train_on_batch",
    "zero_grad",
];

/// Whether a function compiles or traces the functions it is given.
pub(crate) fn is_tracer(path: &str) -> bool {
    TRACERS.contains(&path)
}

/// Whether a method traces the functions it is given: those of datasets, however the dataset came about.
pub(crate) fn is_dataset_callback(path: &str) -> bool {
    let method = last(path);
    path.starts_with("tensorflow")
        && path.contains('.')
        && DATASET_CALLBACKS.contains(&method)
        && !path.starts_with("tensorflow.nest")
        && !path.starts_with("tensorflow.autodiff")
}

/// Which methods of a subclass its library calls while tracing.
pub(crate) fn traced_methods(base: &str) -> &'static [&'static str] {
    let eager = ["Callback", "Sequence", "PyDataset", "Tuner"];
    if is_keras(base) && !eager.iter().any(|class| last(base).ends_with(class)) {
        KERAS_TRACED
    } else if base.starts_with("flax.linen.") {
        &["__call__", "setup"]
    } else {
        &[]
    }
}

/// Whether a path is one of Keras, under any of its names.
fn is_keras(path: &str) -> bool {
    ["keras.", "tensorflow.keras.", "tf_keras.", "tensorflow.compat.v1.keras."]
        .iter()
        .any(|lead| path.starts_with(lead))
}

/// The method of the program's own subclass that runs when an instance is called.
pub(crate) fn called_method(base: &str) -> Option<&'static str> {
    if is_keras(base) {
        Some("call")
    } else if base.starts_with("torch.") || base.contains("lightning") {
        Some("forward")
    } else {
        None
    }
}

/// What the library hands to a parameter of a subclass's method, where the program itself does not show it.
pub(crate) fn handed_parameter(base: &str, method: &str, parameter: &str) -> Option<&'static str> {
    let is_torch = base.starts_with("torch.") || base.contains("lightning");
    match method {
        "compute_loss" | "prediction_step" if base.starts_with("transformers.") => {
            (parameter == "model").then_some("transformers.PreTrainedModel")
        }
        _ if base.contains("lightning") && method.starts_with("on_") => {
            let is_new = base.starts_with("lightning.");
            match parameter {
                "trainer" if is_new => Some("lightning.Trainer"),
                "trainer" => Some("pytorch_lightning.Trainer"),
                "pl_module" | "module" if is_new => Some("lightning.LightningModule"),
                "pl_module" | "module" => Some("pytorch_lightning.LightningModule"),
                _ => None,
            }
        }
        "forward" | "backward" | "training_step" | "validation_step" | "test_step" | "predict_step"
            if is_torch =>
        {
            Some("torch.Tensor")
        }
        "call" | "train_step" | "test_step" | "predict_step" | "update_state" if is_keras(base) => {
            Some("tensorflow.Tensor")
        }
        _ => None,
    }
}

/// What a tracer hands to the functions it was given.
pub(crate) fn handed_by_tracer(path: &str) -> Option<&'static str> {
    match path.split('.').next() {
        Some("tensorflow") => Some("tensorflow.Tensor"),
        Some("jax" | "flax" | "equinox") => Some("jax.Array"),
        Some("torch") => Some("torch.Tensor"),
        _ => None,
    }
}

/// What a function that traces nothing hands to the functions it is given.
pub(crate) fn handed_to_functions(path: &str) -> Option<&'static str> {
    let is_hook = path.starts_with("torch.") && TORCH_HOOKS.contains(&last(path));
    (is_hook || path.starts_with("torch.autograd.functional.")).then_some("torch.Tensor")
}

/// How a function that is no framework's calls the function it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// With the other arguments, at some time; what it gives has a `result`.
    Later,
    /// The one at a place with the arguments after it, and is awaited.
    Awaited(usize),
    /// With each element of those, and gives all results.
    Each,
    /// With `args` and `kwargs`, as a thread its `target`; some know the first parameters themselves.
    Target(usize),
    /// With two elements at a time.
    Pairs,
}

/// Whether and how a function calls the first function it is given.
pub(crate) fn calls_given(path: &str) -> Option<Calls> {
    let is_pool = path.contains("Executor") || path.contains("Pool");
    match last(path) {
        "submit" | "apply_async" if is_pool => Some(Calls::Later),
        "map" | "imap" | "imap_unordered" | "map_async" if is_pool => Some(Calls::Each),
        "to_thread" if path == "asyncio.to_thread" => Some(Calls::Awaited(0)),
        "run_in_executor" if path.starts_with("asyncio.") => Some(Calls::Awaited(1)),
        "Thread" | "Process" | "Timer" if THREADS.contains(&path) => Some(Calls::Target(0)),
        "spawn" if path == "torch.multiprocessing.spawn" => Some(Calls::Target(1)),
        "reduce" if path == "functools.reduce" => Some(Calls::Pairs),
        _ => None,
    }
}

/// Whether a path is the type of a framework's tensors.
pub(crate) fn is_tensor(path: &str) -> bool {
    TENSORS.contains(&path)
}

/// Whether a tensor has no such attribute, though what may as well be a list or a dictionary has.
pub(crate) fn is_no_tensors(path: &str, attribute: &str) -> bool {
    is_tensor(path) && NO_TENSORS.contains(&attribute)
}

/// Whether what a call gives is Python's or NumPy's own.
pub(crate) fn is_plain_result(path: &str) -> bool {
    // `size` of a tensor of PyTorch is a tuple; tf.size gives a tensor.
    PLAIN_RESULTS.contains(&last(path)) && path != "tensorflow.size"
}

/// Whether an attribute is Python's own.
pub(crate) fn is_plain_attribute(attribute: &str) -> bool {
    PLAIN_ATTRIBUTES.contains(&attribute)
}

/// Whether a foreign function hands on its first argument.
pub(crate) fn hands_on(path: &str) -> bool {
    HANDS_ON.contains(&path)
}

/// Whether a method of a receiver that is unknown is probably a framework's.
pub(crate) fn is_telling(method: &str) -> bool {
    TELLING_METHODS.contains(&method)
}

/// Whether a method of an object gives the object itself: `Net().to(device).eval()` is still the net.
pub(crate) fn gives_itself(object: &str, method: &str) -> bool {
    GIVES_ITSELF.contains(&method) && is_torch_module(object)
}

/// Whether a path is that of a PyTorch module: of its class, or of what makes one.
fn is_torch_module(path: &str) -> bool {
    let starts = |leads: &[&str]| leads.iter().any(|lead| path.starts_with(lead));
    let is_pretrained = |part: &str| part.contains("Model") || part.contains("For");
    match path.split('.').next() {
        _ if path.contains("__call__") || path.contains("[]") => false,
        Some("transformers") => path.split('.').nth(1).is_some_and(is_pretrained),
        Some("lightning" | "pytorch_lightning") => last(path) == "LightningModule",
        _ => starts(TORCH_MODULES) && !starts(NO_TORCH_MODULES),
    }
}

/// A path has at most this many parts; what a chain adds beyond says nothing more.
const LONGEST: usize = 12;

/// The path of what a call of `path` gives: shorter where the type is known, so that names do not grow with chains.
pub(crate) fn result(path: &str) -> String {
    let method = last(path);
    if let Some(parent) = parent(path)
        && path.starts_with("tensorflow.data.")
    {
        let is_maker = parent == "tensorflow.data.Dataset" || parent.ends_with("Dataset");
        if is_maker && !NOT_DATASETS.contains(&method) {
            return if parent.ends_with("Dataset") {
                parent.to_owned()
            } else {
                "tensorflow.data.Dataset".to_owned()
            };
        }
    }
    if let Some(parent) = parent(path).filter(|parent| gives_itself(parent, method)) {
        return parent.to_owned();
    }
    let is_small = method.starts_with(|first: char| first.is_lowercase());
    if is_small {
        for (lead, tensor) in TENSOR_MODULES {
            if path.strip_prefix(lead) == Some(method) {
                return (*tensor).to_owned();
            }
        }
        for (root, tensor) in [("torch", "torch.Tensor"), ("tensorflow", "tensorflow.Tensor")] {
            if parent(path) == Some(root) && TENSOR_FUNCTIONS.contains(&method) {
                return tensor.to_owned();
            }
        }
    }
    if method == "__call__" && path.starts_with("torch.nn.") {
        return "torch.Tensor".to_owned();
    }
    let parts = path.split('.').count();
    match parent(path) {
        // x = x.view(…).view(…) stays what it was, and a chain ends somewhere.
        Some(parent) if last(parent) == method || parts > LONGEST => parent.to_owned(),
        _ => path.to_owned(),
    }
}

pub(crate) fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(parent, _)| parent)
}

/// Names that every program has.
pub(crate) const BUILTINS: &[&str] = &[
    "abs",
    "aiter",
    "all",
    "anext",
    "any",
    "ascii",
    "bin",
    "bool",
    "breakpoint",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "compile",
    "complex",
    "delattr",
    "dict",
    "dir",
    "display",
    "divmod",
    "enumerate",
    "eval",
    "exec",
    "exit",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "get_ipython",
    "globals",
    "hasattr",
    "hash",
    "help",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "locals",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "oct",
    "open",
    "ord",
    "pow",
    "print",
    "property",
    "quit",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "setattr",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "vars",
    "zip",
    "__import__",
    "__build_class__",
];

/// Whether a name is always there, or an exception of Python's, which all are called alike.
pub(crate) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
        || ["Error", "Exception", "Warning", "Exit", "Interrupt", "Iteration", "Group"]
            .iter()
            .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_named_after_what_they_are() {
        for (call, given) in [
            ("tensorflow.data.Dataset.from_tensor_slices", "tensorflow.data.Dataset"),
            ("tensorflow.data.Dataset.map", "tensorflow.data.Dataset"),
            ("tensorflow.data.TFRecordDataset", "tensorflow.data.TFRecordDataset"),
            ("tensorflow.data.Dataset.cardinality", "tensorflow.data.Dataset.cardinality"),
            ("tensorflow.keras.Sequential", "tensorflow.keras.Sequential"),
            ("torch.randn", "torch.Tensor"),
            ("torch.Tensor.view", "torch.Tensor"),
            ("torch.nn.functional.relu", "torch.Tensor"),
            ("torch.nn.Linear", "torch.nn.Linear"),
            ("torch.nn.Linear.__call__", "torch.Tensor"),
            ("torch.optim.Adam.step", "torch.optim.Adam.step"),
            ("a.b.view.view", "a.b.view"),
            ("jax.numpy.ones", "jax.Array"),
        ] {
            assert_eq!(result(call), given, "{call}");
        }
    }
}
