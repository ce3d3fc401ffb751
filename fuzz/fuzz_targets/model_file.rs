//! Model files of every kind, and a profile placed by what was read.
#![no_main]

use jouletree_trace::{ReadOptions, read_model_bytes, read_trace_bytes};

const PROFILE: &[u8] = br#"[
{"cat":"Node","pid":7,"tid":9,"dur":5,"ts":1,"ph":"X","name":"/a/MatMul_kernel_time","args":{"op_name":"MatMul"}},
{"cat":"Node","pid":7,"tid":9,"dur":5,"ts":8,"ph":"X","name":"SkipLayerNormalization_kernel_time","args":{"op_name":"SkipLayerNormalization"}},
{"cat":"Node","pid":7,"tid":9,"dur":5,"ts":15,"ph":"X","name":"Gelu_token_2_kernel_time","args":{"op_name":"Gelu"}},
{"cat":"Node","pid":7,"tid":9,"dur":5,"ts":22,"ph":"X","name":"/b/MatMul/MatMulAddFusion_kernel_time","args":{"op_name":"Gemm"}}]"#;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(model) = read_model_bytes("fuzz", data) else { return };
    let trace = read_trace_bytes("profile", PROFILE, &ReadOptions { model, ..ReadOptions::default() })
        .expect("the profile is good, whatever the model");
    assert_eq!(trace.event_count(), 4);
});
