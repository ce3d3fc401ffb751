//! Model files: what is read of them, and that no damage does harm.

use test_support::development::trace_data;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use jouletree_model::{Facts, ModelTree, Op, Pass, TensorShape};
use jouletree_trace::{TraceError, read_model, read_model_bytes};
use proptest::prelude::*;
use test_support::proto::Message;

fn read(bytes: &[u8]) -> ModelTree {
    read_model_bytes("model", bytes).expect("a model")
}

fn refusal(bytes: &[u8]) -> TraceError {
    read_model_bytes("model", bytes).expect_err("no model")
}

fn node<'a>(tree: &'a ModelTree, name: &str) -> (&'a Op, &'a Facts) {
    let mut nodes = tree.nodes().map(|(_, op, facts)| (op, facts));
    nodes.find(|(op, _)| &*op.name == name).unwrap_or_else(|| panic!("no node {name}"))
}

fn edges(tree: &ModelTree) -> Vec<(&str, &str)> {
    let name = |node| &*tree.get(node).expect("a node").0.name;
    tree.edges().map(|edge| (name(edge.from), name(edge.to))).collect()
}

fn onnx_node(name: &str, op_type: &str, inputs: &[&str], output: &str) -> Message {
    let node = inputs.iter().fold(Message::new(), |node, input| node.text(1, input));
    node.text(2, output).text(3, name).text(4, op_type)
}

fn value(name: &str, dimensions: &[i64]) -> Message {
    let dimension = |size: &i64| match size {
        -1 => Message::new().text(2, "batch"),
        size => Message::new().integer(1, *size),
    };
    let shape = Message::new().messages(1, dimensions.iter().map(dimension));
    let tensor = Message::new().integer(1, 1).message(2, shape);
    Message::new().text(1, name).message(2, Message::new().message(1, tensor))
}

fn weight(name: &str, dimensions: &[i64], element: i64) -> Message {
    Message::new().packed(1, dimensions).integer(2, element).text(9, [0xff; 40]).text(8, name)
}

/// A linear layer with an activation inside a branch, a node without a name and a constant.
fn onnx_model() -> Vec<u8> {
    let body = Message::new().messages(1, [onnx_node("/act/Relu", "Relu", &["m"], "r")]);
    let branch = Message::new().text(1, "then_branch").message(6, body);
    let scopes = Message::new()
        .text(1, "pkg.torch.onnx.name_scopes")
        .text(2, "['', 'encoder', 'encoder.layer.0', 'linear_1']");
    let graph = Message::new()
        .messages(
            1,
            [
                onnx_node("c", "Constant", &[], "shape"),
                onnx_node("Identity_0", "Identity", &["b"], "b2"),
                onnx_node("/dense/MatMul", "MatMul", &["x", "w"], "m"),
                onnx_node("", "Add", &["m", "b2"], "a"),
                onnx_node("If_1", "If", &["a"], "i").message(5, branch),
                onnx_node("node_linear", "Gemm", &["i", "w"], "y").message(9, scopes),
            ],
        )
        .text(2, "main")
        .messages(5, [weight("w", &[3, 4], 1), weight("b", &[4], 1), weight("s", &[2], 7)])
        .messages(11, [value("x", &[2, 3])])
        .messages(13, [value("m", &[2, 4]), value("a", &[-1, 4])]);
    Message::new().integer(1, 8).text(2, "pytorch").message(7, graph).0
}

fn graph_def() -> Message {
    let shape = |sizes: &[i64]| {
        let shape = Message::new().messages(2, sizes.iter().map(|size| Message::new().integer(1, *size)));
        let list = Message::new().message(7, shape);
        let value = Message::new().message(1, list);
        Message::new().text(1, "_output_shapes").message(2, value)
    };
    let element = || Message::new().text(1, "T").message(2, Message::new().integer(6, 1));
    let node = |name: &str, op: &str, inputs: &[&str], sizes: &[i64]| {
        let node = Message::new().text(1, name).text(2, op);
        let node = inputs.iter().fold(node, |node, input| node.text(3, input));
        node.text(4, "/device:CPU:0").message(5, element()).message(5, shape(sizes))
    };
    let inner = node("inner/Tanh", "Tanh", &["bert/MatMul:product:0"], &[2, 4]);
    let function = Message::new().message(1, Message::new().text(1, "f")).message(3, inner);
    Message::new()
        .messages(
            1,
            [
                node("bert/x", "Placeholder", &[], &[2, 3]),
                node("bert/w", "VarHandleOp", &[], &[3, 4]),
                node("bert/MatMul", "MatMul", &["bert/x:0", "bert/w", "^bert/x"], &[2, 4]),
                node("gradients/bert/MatMul_grad/MatMul_1", "MatMul", &["bert/x", "bert/MatMul"], &[3, 4]),
            ],
        )
        .message(2, Message::new().message(1, function))
}

#[test]
fn onnx_files_tell_nodes_shapes_weights_and_flow() {
    let tree = read(&onnx_model());
    assert_eq!(tree.nodes().len(), 7);
    let (op, facts) = node(&tree, "/dense/MatMul");
    assert_eq!((&*op.path, &*op.op_type, op.pass), ("dense/MatMul", "MatMul", Pass::Forward));
    assert_eq!((facts.parameters, facts.flops, facts.output_bytes), (Some(12), Some(2 * 2 * 3 * 4), Some(32)));
    assert_eq!(facts.inputs, [TensorShape::new("float", [2, 3]), TensorShape::new("float", [3, 4])]);
    // A node without a name is called as the runtime calls it, which does not count constants.
    let (_, facts) = node(&tree, "Add_2");
    assert_eq!((facts.parameters, facts.flops, facts.output_bytes), (Some(4), None, None));
    assert_eq!(facts.outputs, [TensorShape::new("float", [-1, 4])]);
    assert_eq!(&*node(&tree, "node_linear").0.path, "encoder/layer.0/node_linear");
    assert_eq!(node(&tree, "Identity_0").1.parameters, None);
    let wanted = [
        ("/dense/MatMul", "Add_2"),
        ("Identity_0", "Add_2"),
        ("Add_2", "If_1"),
        ("/dense/MatMul", "/act/Relu"),
        ("If_1", "node_linear"),
    ];
    assert_eq!(edges(&tree), wanted);
}

#[test]
fn tensorflow_graphs_are_read_alone_and_in_saved_models() {
    let graph = graph_def();
    let info =
        Message::new().text(1, "v1").message(2, Message::new().message(1, Message::new().text(1, "MatMul")));
    // What else is saved looks much like a graph of ONNX.
    let object = Message::new().message(4, Message::new().text(1, "_generic_user_object"));
    let objects = Message::new().messages(1, [object]);
    let meta = Message::new().message(1, info).message(2, graph.clone()).message(7, objects);
    let saved = Message::new().integer(1, 1).message(2, meta.clone());
    for bytes in [&graph.0, &meta.0, &saved.0] {
        let tree = read(bytes);
        assert_eq!(tree.nodes().len(), 5);
        let (op, facts) = node(&tree, "bert/MatMul");
        assert_eq!((&*op.path, op.pass), ("bert/MatMul", Pass::Forward));
        assert_eq!((facts.flops, facts.output_bytes), (Some(2 * 2 * 3 * 4), Some(32)));
        // As in a timeline, a gradient is where its tensor is.
        let (gradient, _) = node(&tree, "gradients/bert/MatMul_grad/MatMul_1");
        assert_eq!((&*gradient.path, gradient.pass), ("bert/MatMul", Pass::Backward));
        let mut edges = edges(&tree);
        edges.sort();
        let wanted = [
            ("bert/MatMul", "gradients/bert/MatMul_grad/MatMul_1"),
            ("bert/MatMul", "inner/Tanh"),
            ("bert/w", "bert/MatMul"),
            ("bert/x", "bert/MatMul"),
            ("bert/x", "gradients/bert/MatMul_grad/MatMul_1"),
        ];
        assert_eq!(edges, wanted);
    }
}

#[test]
fn own_trees_come_back_as_they_were_written() {
    let tree = read(&onnx_model());
    let text = serde_json::to_string(&tree).expect("JSON");
    assert_eq!(read(text.as_bytes()), tree);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).expect("memory can be written");
    let packed = packed.finish().expect("memory can be written");
    assert_eq!(read(&packed), tree);
    let cut = refusal(&packed[..packed.len() / 2]);
    assert!(matches!(cut, TraceError::DamagedModel { .. }), "{cut}");
}

#[test]
fn graphs_of_modules_are_read() {
    let tree = read(
        br#"{"torch": "2", "modules": [
            {"name": "(root)", "cls": "Bert", "params": 10, "flops_forward": 20, "inputs": [[8, 64]], "output": [8, 2]},
            {"name": "encoder.layer.0", "cls": "BertLayer"}],
        "nodes": [{"name": "linear_1", "op": "aten.linear.default", "module": "encoder.layer.0", "inputs": ["p_weight", "x"], "shape": [8, 2]},
            {"name": "gelu", "op": "aten.gelu.default", "module": "(root)", "inputs": ["linear_1"], "shape": null}]}"#,
    );
    let (root, facts) = node(&tree, "(root)");
    assert_eq!((&*root.path, &*root.op_type, facts.is_module), ("", "Bert", true));
    assert_eq!((facts.parameters, facts.flops), (Some(10), Some(20)));
    assert_eq!(&*node(&tree, "encoder.layer.0").0.path, "encoder/layer.0");
    let (linear, facts) = node(&tree, "linear_1");
    // Where a trace of PyTorch has it.
    assert_eq!((&*linear.path, &*linear.op_type), ("encoder/layer.0/aten::linear", "aten::linear"));
    assert_eq!((facts.is_module, &facts.outputs[..]), (false, &[TensorShape::new("", [8, 2])][..]));
    assert_eq!(&*node(&tree, "gelu").0.path, "aten::gelu");
    assert_eq!(edges(&tree), [("linear_1", "gelu")]);
}

#[test]
fn other_files_are_refused_with_a_reason() {
    for (bytes, reason) in [
        (&b""[..], "it is empty"),
        (b" \n", "it is empty"),
        (b"node { name: \"x\" }", "it begins with `node {"),
        (b"[]", "it is a JSON list"),
        (br#"{"traceEvents": []}"#, "keys: traceEvents"),
        (br#"{"nodes": [{"name": "x"}]}"#, "it is not a graph of ONNX nodes (missing field `op`"),
        (br#"{"nodes": [], "edges": 3}"#, ""),
        (b"\x08\x01\x12\x03abc", "it begins with"),
    ] {
        match read_model_bytes("model", bytes) {
            Err(error @ TraceError::UnknownModel { .. }) => assert!(error.to_string().contains(reason), "{error}"),
            Err(error) => panic!("{error}"),
            Ok(tree) => assert!(tree.is_empty() && reason.is_empty(), "{reason}"),
        }
    }
    let error = refusal(b"{\n\"nodes\": [,]}");
    assert!(matches!(error, TraceError::DamagedModel { at: 13, .. }), "{error}");
    let error = read_model(std::path::Path::new("no/such/file.onnx")).expect_err("no file");
    assert!(matches!(error, TraceError::Io { .. }), "{error}");
}

/// A model that is cut short is refused, wherever the cut is: half a model would place operations wrongly. Only a graph
/// that ends between two nodes is whole by all that can be seen.
#[test]
fn half_a_model_is_no_model() {
    let onnx = onnx_model();
    for cut in 0..onnx.len() {
        refusal(&onnx[..cut]);
    }
    let graph = graph_def().0;
    let whole: Vec<usize> =
        (0..graph.len()).filter(|cut| read_model_bytes("model", &graph[..*cut]).is_ok()).collect();
    assert_eq!(whole.len(), 4, "{whole:?}");
    let last = refusal(&graph[..graph.len() - 1]);
    assert!(matches!(last, TraceError::DamagedModel { at, .. } if at == whole[3]), "{last}");
}

#[test]
fn graphs_in_graphs_have_an_end() {
    let mut graph = Message::new().messages(1, [onnx_node("deepest", "Relu", &["x"], "y")]);
    for level in 0..40 {
        let attribute = Message::new().message(6, graph);
        graph =
            Message::new().message(1, onnx_node(&format!("If_{level}"), "If", &["x"], "y").message(5, attribute));
    }
    let tree = read(&Message::new().integer(1, 8).message(7, graph).0);
    assert!((10..30).contains(&tree.nodes().len()), "{}", tree.nodes().len());
}

#[test]
fn the_development_graphs_are_read() {
    let (Some(onnx), Some(torch)) =
        (trace_data("onnx_bert_tiny.graph.gz"), trace_data("torch215_bert_tiny_mlm.graph.gz"))
    else {
        return;
    };
    let onnx = read_model(&onnx).expect("a graph");
    assert_eq!((onnx.nodes().len(), onnx.edges().len()), (176, 197));
    let torch = read_model(&torch).expect("a graph");
    let modules = torch.nodes().filter(|(_, _, facts)| facts.is_module).count();
    let (root, facts) = node(&torch, "(root)");
    assert_eq!((&*root.path, facts.parameters, facts.flops), ("", Some(737_360), Some(715_128_832)));
    assert_eq!((modules, torch.nodes().len() - modules, torch.edges().len()), (53, 79, 85));
    // Every operation is in a module that the file lists.
    let is_module = |path: &str| torch.nodes().any(|(_, op, facts)| facts.is_module && &*op.path == path);
    for (_, op, _) in torch.nodes().filter(|(_, _, facts)| !facts.is_module) {
        assert!(is_module(op.path.rsplit_once('/').map_or("", |(module, _)| module)), "{}", op.path);
    }
}

proptest! {
    #[test]
    fn damage_is_survived(
        which in 0..3_usize, places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let tree = || serde_json::to_vec(&read(&onnx_model())).expect("JSON");
        let mut bytes = match which {
            0 => onnx_model(),
            1 => graph_def().0,
            _ => tree(),
        };
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let _ = read_model_bytes("model", &bytes);
    }

    #[test]
    fn nonsense_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_model_bytes("model", &bytes);
    }
}
