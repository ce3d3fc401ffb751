//! Model files: what a trace lacks about the model that ran, as a [`ModelTree`].
//!
//! As with traces, the kind of a file is recognised by its content: a model tree or a graph in JSON, an ONNX model, a
//! TensorFlow graph; plain or gzip. Unlike a trace, a model that is cut short is of no use and is refused.

mod json;
mod onnx;
mod tensorflow;

use std::path::Path;

use jouletree_model::{ModelTree, TensorShape};

use crate::error::TraceError;
use crate::input::Progress;
use crate::source::Source;
use crate::wire::Fields;

/// Reads a model file of any known kind, plain or gzip.
pub fn read_model(path: &Path) -> Result<ModelTree, TraceError> {
    read(&Source::file(path))
}

/// Reads a model file that is in memory; `name` replaces the file's name in messages.
pub fn read_model_bytes(name: &str, bytes: &[u8]) -> Result<ModelTree, TraceError> {
    read(&Source::memory(name, bytes))
}

/// Why a file gave no model.
enum Refusal {
    /// It is none that we know: what it looks like.
    Unknown(String),
    /// It is one, but not whole: where, and what is wrong.
    Damaged(usize, String),
}

fn read(source: &Source) -> Result<ModelTree, TraceError> {
    let (bytes, failure) = source.read_all(&Progress::default())?;
    let file = || source.name().to_owned();
    if let Some(what) = failure {
        return Err(TraceError::DamagedModel { file: file(), at: bytes.len(), what });
    }
    let read = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Err(Refusal::Unknown("it is empty".to_owned())),
        Some(b'{' | b'[') => json::read(&bytes),
        Some(_) => binary(&bytes),
    };
    read.map_err(|refusal| match refusal {
        Refusal::Unknown(found) => TraceError::UnknownModel { file: file(), found },
        Refusal::Damaged(at, what) => TraceError::DamagedModel { file: file(), at, what },
    })
}

fn binary(bytes: &[u8]) -> Result<ModelTree, Refusal> {
    if let Some(read) = onnx::read(bytes).or_else(|| tensorflow::read(bytes)) {
        return read;
    }
    let mut fields = Fields::new(bytes);
    let count = fields.by_ref().count();
    Err(Refusal::Unknown(match fields.damage() {
        Some(at) if count > 0 => format!("it is no protocol buffer beyond byte {at}, or it is cut short there"),
        _ => {
            let start: String =
                bytes.iter().take(24).flat_map(|byte| byte.escape_ascii()).map(char::from).collect();
            format!("it begins with `{start}`")
        }
    }))
}

/// Where a part of the file's bytes begins in them.
fn offset(bytes: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).saturating_sub(bytes.as_ptr() as usize)
}

/// Refuses a message of the file that cannot be read to its end.
fn whole(bytes: &[u8], message: &[u8]) -> Result<(), Refusal> {
    let mut fields = Fields::new(message);
    fields.by_ref().for_each(drop);
    match fields.damage() {
        None => Ok(()),
        Some(at) => Err(Refusal::Damaged(offset(bytes, message) + at, "a field does not end".to_owned())),
    }
}

/// The bytes in some tensors, as far as their types and sizes are known.
fn bytes_of(tensors: &[TensorShape]) -> Option<u64> {
    let size = |tensor: &TensorShape| {
        let each = match &*tensor.element {
            "bool" | "int8" | "uint8" => 1,
            "float16" | "bfloat16" | "int16" | "uint16" => 2,
            "float" | "float32" | "int32" | "uint32" => 4,
            "double" | "float64" | "int64" | "uint64" | "complex64" => 8,
            "complex128" => 16,
            _ => return None,
        };
        tensor.elements()?.checked_mul(each)
    };
    tensors
        .iter()
        .try_fold(None, |sum: Option<u64>, tensor| Some(Some(sum.unwrap_or(0).checked_add(size(tensor)?)?)))?
}
