//! The user's source files: a module says in which an instruction was written.

use crate::wire::Value;

/// Folders of libraries that update parameters, and files of others that do. Libraries of layers and losses are none.
const OPTIMIZERS: &[&str] = &[
    "/optax/",
    "/jaxopt/",
    "/equinox/_update.py",
    "/flax/nnx/training/optimizer.py",
    "/flax/training/train_state.py",
];

/// Parts of these libraries that belong to the model.
const LOSSES: &[&str] = &["/optax/losses/", "/optax/_src/loss.py", "/jaxopt/loss.py", "/jaxopt/_src/loss.py"];

/// The stack frames of a module, an `xla.StackFrameIndexProto`. Numbers count from one; zero is none.
#[derive(Debug, Default)]
pub(super) struct Frames {
    files: Vec<String>,
    /// The number of the file of each location.
    locations: Vec<i64>,
    /// The number of the location of each frame.
    frames: Vec<i64>,
}

impl Frames {
    pub(super) fn read(index: Value<'_>) -> Frames {
        let mut frames = Frames::default();
        let first = |value: Value<'_>| {
            let field = value.message().find(|(field, _)| *field == 1);
            field.map_or(0, |(_, value)| value.signed())
        };
        for (field, value) in index.message() {
            match field {
                1 => frames.files.push(value.text()),
                3 => frames.locations.push(first(value)),
                4 => frames.frames.push(first(value)),
                _ => {}
            }
        }
        frames
    }

    /// The file of a frame: the innermost that is not the framework's own.
    pub(super) fn file(&self, frame: i64) -> Option<&str> {
        let location = *numbered(&self.frames, frame)?;
        let file = *numbered(&self.locations, location)?;
        numbered(&self.files, file).map(String::as_str)
    }
}

fn numbered<T>(list: &[T], number: i64) -> Option<&T> {
    list.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// Whether what is written in a file updates parameters.
pub(super) fn is_optimizer(file: &str) -> bool {
    let file = file.replace('\\', "/");
    OPTIMIZERS.iter().any(|part| file.contains(part)) && !LOSSES.iter().any(|part| file.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_optimizers() {
        for (file, wanted) in [
            ("/x/site-packages/optax/_src/transform.py", true),
            ("/x/site-packages/optax/transforms/_accumulation.py", true),
            ("C:\\site-packages\\optax\\tree_utils\\_tree_math.py", true),
            ("/x/site-packages/optax/losses/_classification.py", false),
            ("/x/site-packages/optax/_src/loss.py", false),
            ("/x/site-packages/equinox/_update.py", true),
            ("/x/site-packages/equinox/nn/_linear.py", false),
            ("/x/optax.py", false),
            ("", false),
        ] {
            assert_eq!(is_optimizer(file), wanted, "{file}");
        }
    }
}
