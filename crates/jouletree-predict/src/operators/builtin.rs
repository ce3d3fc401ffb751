//! Models that are built in, by name: AlexNet, VGG11/13/16, BERT, ALBERT and GPT-2.

pub use super::transformers::Transformer;
use super::{Operator, ShapeError, vision};

/// What a network of images is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageInput {
    /// Samples.
    pub batch: u64,
    /// Channels of an image.
    pub channels: u64,
    /// Height and width of an image.
    pub side: u64,
}

/// What a network of texts is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextInput {
    /// Samples.
    pub batch: u64,
    /// Tokens of a sample.
    pub sequence: u64,
}

/// What a user may say about a model that is built in; the rest is the model's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// Samples; 1 when not given.
    pub batch: Option<u64>,
    /// Tokens of a sample; 128 when not given.
    pub sequence: Option<u64>,
    /// Height and width of an image; 224 when not given.
    pub image: Option<u64>,
    /// Layers of a transformer.
    pub layers: Option<u64>,
    /// Features of a token.
    pub hidden: Option<u64>,
    /// Heads of attention.
    pub heads: Option<u64>,
}

/// Tokens of a sample by default.
pub const TOKENS: u64 = 128;

/// The names of the models that are built in.
pub const NAMES: [&str; 7] = ["alexnet", "vgg11", "vgg13", "vgg16", "bert", "albert", "gpt2"];

/// A name that is not one of [`NAMES`], or a choice that makes no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    /// No model of this name.
    #[error("`{0}` is not a model that is built in; these are: {names}", names = NAMES.join(", "))]
    Unknown(String),
    /// The model cannot be as asked.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A choice that the model does not have.
    #[error("{model} has no `{option}`; leave it out")]
    NotAChoice {
        /// The model.
        model: String,
        /// What was given.
        option: &'static str,
    },
}

const BERT_BASE: Transformer = Transformer {
    layers: 12,
    hidden: 768,
    heads: 12,
    feed_forward: 3072,
    vocabulary: 30522,
    positions: 512,
    embedding: 768,
};

const ALBERT_BASE: Transformer = Transformer { vocabulary: 30000, embedding: 128, ..BERT_BASE };

const GPT2_SMALL: Transformer = Transformer { vocabulary: 50257, positions: 1024, ..BERT_BASE };

/// The operators of a model that is built in.
pub fn builtin(name: &str, choice: Choice) -> Result<Vec<Operator>, BuiltinError> {
    let name = name.to_ascii_lowercase();
    let convolutions = match name.as_str() {
        "alexnet" => None,
        "vgg11" => Some([1, 1, 2, 2, 2]),
        "vgg13" => Some([2, 2, 2, 2, 2]),
        "vgg16" => Some([2, 2, 3, 3, 3]),
        "bert" | "bert-base" => return text(&name, BERT_BASE, choice),
        "albert" | "albert-base" => return text(&name, ALBERT_BASE, choice),
        "gpt2" | "gpt-2" => return text(&name, GPT2_SMALL, choice),
        _ => return Err(BuiltinError::Unknown(name)),
    };
    let foreign = [
        ("sequence", choice.sequence),
        ("layers", choice.layers),
        ("hidden", choice.hidden),
        ("heads", choice.heads),
    ];
    refuse(&name, &foreign)?;
    let input = ImageInput { batch: choice.batch.unwrap_or(1), channels: 3, side: choice.image.unwrap_or(224) };
    Ok(match convolutions {
        Some(convolutions) => vision::vgg(convolutions, input)?,
        None => vision::alexnet(input)?,
    })
}

fn text(name: &str, usual: Transformer, choice: Choice) -> Result<Vec<Operator>, BuiltinError> {
    refuse(name, &[("image", choice.image)])?;
    let hidden = choice.hidden.unwrap_or(usual.hidden);
    // Who changes the features alone means the same model, wider: heads of 64 and four times as much inside.
    let heads = choice.heads.unwrap_or(if choice.hidden.is_some() { (hidden / 64).max(1) } else { usual.heads });
    let embedding = if usual.embedding == usual.hidden { hidden } else { usual.embedding };
    let model = Transformer {
        layers: choice.layers.unwrap_or(usual.layers),
        hidden,
        heads,
        feed_forward: hidden.saturating_mul(4),
        embedding,
        ..usual
    };
    let input = TextInput { batch: choice.batch.unwrap_or(1), sequence: choice.sequence.unwrap_or(TOKENS) };
    Ok(match name {
        "gpt2" | "gpt-2" => model.decoder(input)?,
        "albert" | "albert-base" => model.encoder(true, input)?,
        _ => model.encoder(false, input)?,
    })
}

fn refuse(model: &str, foreign: &[(&'static str, Option<u64>)]) -> Result<(), BuiltinError> {
    match foreign.iter().find(|(_, value)| value.is_some()) {
        Some((option, _)) => Err(BuiltinError::NotAChoice { model: model.to_owned(), option }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(name: &str) -> u64 {
        builtin(name, Choice::default()).unwrap().iter().map(Operator::parameters).sum()
    }

    #[test]
    fn parameters_are_the_well_known_ones() {
        assert_eq!(parameters("alexnet"), 61_100_840);
        assert_eq!(parameters("vgg11"), 132_863_336);
        assert_eq!(parameters("vgg13"), 133_047_848);
        assert_eq!(parameters("vgg16"), 138_357_544);
        assert_eq!(parameters("bert"), 109_482_240);
        assert_eq!(parameters("albert"), 11_683_584);
        assert_eq!(parameters("gpt2"), 124_439_808);
    }

    #[test]
    fn macs_grow_with_the_batch_and_parameters_do_not() {
        for name in NAMES {
            let one = builtin(name, Choice::default()).unwrap();
            let three = builtin(name, Choice { batch: Some(3), ..Choice::default() }).unwrap();
            let macs = |operators: &[Operator]| operators.iter().map(|o| o.count().macs).sum::<u64>();
            assert_eq!(macs(&one) * 3, macs(&three), "{name}");
            let parameters = |operators: &[Operator]| operators.iter().map(Operator::parameters).sum::<u64>();
            assert_eq!(parameters(&one), parameters(&three), "{name}");
        }
    }

    #[test]
    fn wrong_choices_are_named() {
        let error = |name, choice| builtin(name, choice).unwrap_err().to_string();
        assert!(error("resnet", Choice::default()).contains("alexnet, vgg11"));
        assert!(error("vgg11", Choice { heads: Some(2), ..Choice::default() }).contains("heads"));
        assert!(error("bert", Choice { heads: Some(7), ..Choice::default() }).contains("must divide"));
        assert!(error("bert", Choice { sequence: Some(513), ..Choice::default() }).contains("512 positions"));
    }
}
