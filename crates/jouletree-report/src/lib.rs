//! Where the joules go, to look at: one page, figures for papers, files for the viewers people have.
//!
//! A [`Study`] is what there is to see in a run, or in several runs of the same program, read from run folders. The page
//! and the figures draw it; exports write one run for another program. Nothing here computes energy.

pub mod carbon;
pub mod card;
mod diagram;
mod disclosure;
pub mod export;
mod facts;
mod figures;
mod page;
mod parts;
mod power_floor;
mod program_energy;
mod reaccounted;
pub mod rows;
mod segments;
mod study;
mod trust;
mod warnings;
mod whole;

pub use diagram::{BoxContent, Diagram, DiagramBox, Flow, Heads, Route};
pub use disclosure::Disclosure;
pub use facts::{Fact, FactOf, answer, facts};
pub use figures::{
    CallPicture, CallTrack, Figure, FigureChoice, FigureError, FigureFormat, Figures, TradeoffPoint, tradeoff,
};
pub use page::page;
pub use parts::{PartRow, parts, parts_by_name};
pub use power_floor::PowerFloor;
pub use program_energy::{PhaseRow, ProgramEnergy, StageRow, StageSteps, StepSum, WindowRow, stages};
pub use reaccounted::{AttributionError, explained_by, footprint_by, recorded_attribution};
pub use segments::{Segment, SegmentEnergy};
pub use study::{
    DeviceTotal, Difference, InStage, Mark, Marks, Moment, PowerTrack, PowerView, Provenance, Ranked,
    StageOperations, StageTotal, StepView, Study, StudyError, What, program_name,
};
pub use trust::{About, Caveat, Trust, Verdict};
pub use warnings::{lasting_warnings, summed, warnings};
pub use whole::{Base, Slice, SliceEnergy, StageWhole, Whole};
