//! Where the joules go, to look at: one page, figures for papers, files for the viewers people have.
//!
//! A [`Study`] is what there is to see in a run, or in several runs of the same program, read from run folders. The page
//! and the figures draw it; exports write one run for another program. Nothing here computes energy.

pub mod carbon;
pub mod card;
mod diagram;
pub mod export;
mod figures;
mod page;
mod parts;
mod power_floor;
mod reaccounted;
mod study;
mod told;
mod trust;
mod warnings;
mod whole;

pub use diagram::{Diagram, Flow, Heads, Part, Place, Route};
pub use figures::{
    CallPicture, CallTrack, Figure, FigureChoice, FigureError, FigureFormat, Figures, TradeoffPoint, tradeoff,
};
pub use page::page;
pub use parts::{PartRow, parts, parts_by_name};
pub use power_floor::PowerFloor;
pub use reaccounted::{AttributionError, footprint_by, recorded_attribution};
pub use study::{
    DeviceTotal, Difference, Moment, PowerTrack, PowerView, Provenance, Ranked, StageTotal, StepView, Study,
    StudyError, What,
};
pub use told::{PhaseRow, StageRow, Told, WindowRow, stages};
pub use trust::{Caveat, Trust, Verdict};
pub use warnings::{lasting_warnings, summed, warnings};
pub use whole::{Base, Slice, SliceEnergy, StageWhole, Whole};
