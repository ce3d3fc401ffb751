//! The figures of a paper: a study drawn in the width of a column, as SVG, PDF or PNG.
//!
//! Every text is measured with the font it is drawn in, so that nothing is cut off or lies on something else.

mod axes;
mod call;
mod colour;
mod data;
mod distribution;
mod font;
mod icicle;
mod power;
#[cfg(feature = "figures")]
mod render;
mod scale;
mod stages;
mod svg;
mod top;
mod tradeoff;

use std::collections::HashSet;

use jouletree_account::EnergyTree;
use jouletree_model::Pass;

pub use call::{CallPicture, CallTrack};

use crate::Study;
use top::Top;
pub use tradeoff::{TradeoffPoint, tradeoff};

/// A longer name of a file is cut.
const LONGEST_NAME: usize = 120;

/// What is to be drawn beside what always is.
#[derive(Debug, Clone, Default)]
pub struct FigureChoice {
    /// Layers whose diagrams are wanted, by path.
    pub layers: Vec<String>,
    /// The pass that diagrams show; all of them if `None`.
    pub pass: Option<Pass>,
    /// The layer that is pointed out in power over a step; the largest that is a part of the step if `None`.
    pub highlight: Option<String>,
}

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureFormat {
    /// Scalable, for web pages and drawing programs.
    Svg,
    /// For papers.
    Pdf,
    /// Pixels, 300 to an inch.
    Png,
    /// No picture, but the numbers that it shows.
    Csv,
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What its file is called, without an ending.
    pub name: String,
    svg: String,
    /// Its numbers; empty where the caller has them.
    data: String,
}

/// The figures of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Those that show something.
    pub drawn: Vec<Figure>,
    /// Those that would show nothing, and why.
    pub missing: Vec<(String, &'static str)>,
}

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// A layer that the run does not have.
    #[error("the run has no layer `{0}`; `jouletree show RUN --by layer` lists those it has")]
    NoLayer(String),
    /// A layer that nothing is in.
    #[error("`{0}` is one tensor and has no diagram; choose the layer that holds it")]
    NoParts(String),
    /// A picture that cannot be drawn.
    #[error("{name} cannot be drawn: {why}; --format svg needs no drawing")]
    Drawing {
        /// The figure.
        name: String,
        /// What the drawing program says.
        why: String,
    },
}

impl FigureFormat {
    /// The end of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            FigureFormat::Svg => "svg",
            FigureFormat::Pdf => "pdf",
            FigureFormat::Png => "png",
            FigureFormat::Csv => "csv",
        }
    }
}

impl Figure {
    /// The content of its file.
    pub fn bytes(&self, format: FigureFormat) -> Result<Vec<u8>, FigureError> {
        match format {
            FigureFormat::Svg => Ok(self.svg.clone().into_bytes()),
            FigureFormat::Csv => Ok(self.data.clone().into_bytes()),
            #[cfg(feature = "figures")]
            FigureFormat::Pdf => render::pdf(&self.name, &self.svg),
            #[cfg(feature = "figures")]
            FigureFormat::Png => render::png(&self.name, &self.svg),
            #[cfg(not(feature = "figures"))]
            FigureFormat::Pdf | FigureFormat::Png => {
                let why = "this build draws SVG only; build jouletree with its feature `figures`".to_owned();
                Err(FigureError::Drawing { name: self.name.clone(), why })
            }
        }
    }
}

impl Figures {
    /// Draws all figures of a study.
    pub fn of(study: &Study, choice: &FigureChoice) -> Result<Figures, FigureError> {
        let mut figures = Figures { drawn: Vec::new(), missing: Vec::new() };
        if let Some(path) = &choice.highlight {
            found(&study.tree, path)?;
        }
        let data = || data::stages(study);
        figures.add("stages".to_owned(), stages::stages(study), data, "no operation used energy");
        figures.add_diagrams(study, choice)?;
        let data = || data::top(study, Top::Energy);
        figures.add("top-energy".to_owned(), top::top(study, Top::Energy), data, "no operation used energy");
        let no_power = "no operation used energy and ran for long enough to have a power of its own";
        let data = || data::top(study, Top::Power);
        figures.add("top-power".to_owned(), top::top(study, Top::Power), data, no_power);
        let power = power::power(study, choice.highlight.as_deref());
        let data = || data::power(study);
        figures.add("power-step".to_owned(), power, data, "no power is known during a step");
        let data = || data::icicle(study);
        figures.add("icicle".to_owned(), icicle::icicle(study), data, "no operation used energy");
        Ok(figures)
    }

    fn add_diagrams(&mut self, study: &Study, choice: &FigureChoice) -> Result<(), FigureError> {
        let mut layers = chain(&study.tree, choice.pass);
        for path in &choice.layers {
            let layer = found(&study.tree, path)?;
            if layer.children.is_empty() && !layer.path.is_empty() {
                return Err(FigureError::NoParts(path.clone()));
            }
            if !layers.iter().any(|known| known.path == layer.path) {
                layers.push(layer);
            }
        }
        let mut names = HashSet::new();
        for layer in layers {
            let wanted = diagram_name(layer, choice.pass);
            // Paths that differ only in signs that no file's name may have.
            let numbered = |number: usize| if number < 2 { wanted.clone() } else { format!("{wanted}-{number}") };
            let name = (1..).map(numbered).find(|name| !names.contains(name)).unwrap_or_default();
            names.insert(name.clone());
            let diagram = distribution::distribution(study, layer, choice.pass);
            self.add(name, diagram, || data::diagram(layer, choice.pass), "the layer used no energy");
        }
        Ok(())
    }

    fn add(&mut self, name: String, svg: Option<String>, data: impl Fn() -> String, why_not: &'static str) {
        match svg {
            Some(svg) => self.drawn.push(Figure { name, svg, data: data() }),
            None => self.missing.push((name, why_not)),
        }
    }
}

/// The root, and below it the largest layer, the largest in that, and so on; those with only one part add nothing.
fn chain(root: &EnergyTree, pass: Option<Pass>) -> Vec<&EnergyTree> {
    let mut layers = vec![root];
    let mut at = root;
    let used = |layer: &EnergyTree| distribution::energy(layer, pass);
    loop {
        let inside = at.children.iter().filter(|child| child.is_composite());
        let Some(largest) = inside.max_by(|a, b| used(a).total_cmp(&used(b)).then_with(|| b.name.cmp(&a.name)))
        else {
            return layers;
        };
        if largest.children.len() > 1 && used(largest) > 0.0 {
            layers.push(largest);
        }
        at = largest;
    }
}

fn found<'a>(root: &'a EnergyTree, path: &str) -> Result<&'a EnergyTree, FigureError> {
    let mut at = root;
    for part in path.split('/').filter(|part| !part.is_empty()) {
        let child = at.children.iter().find(|child| child.name == part);
        at = child.ok_or_else(|| FigureError::NoLayer(path.to_owned()))?;
    }
    Ok(at)
}

fn diagram_name(layer: &EnergyTree, pass: Option<Pass>) -> String {
    let path = if layer.path.is_empty() { "all" } else { &layer.path };
    let safe = |letter: char| match letter {
        '/' => '-',
        letter if letter.is_ascii_alphanumeric() || "._-".contains(letter) => letter,
        _ => '_',
    };
    let path: String = path.chars().map(safe).take(LONGEST_NAME).collect();
    match pass {
        Some(pass) => format!("diagram-{path}-{pass}"),
        None => format!("diagram-{path}"),
    }
}

#[cfg(test)]
mod tests;
