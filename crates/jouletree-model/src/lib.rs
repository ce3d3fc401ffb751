//! The vocabulary that every other crate speaks: units, time, devices, operations, events, samples, power,
//! footprints.
//!
//! Plain data with its invariants and nothing else: no files, no formats, no algorithms beyond what keeps a
//! value well formed. Data flows through these types in one direction, from meters and traces to footprints.

mod accounting;
mod call;
mod census;
mod device;
mod device_table;
mod event;
mod footprint;
mod guard;
mod interval;
mod metered_series;
mod model_tree;
mod op;
mod parts;
mod power;
mod predicted;
mod program;
mod provenance;
mod redact;
mod sampled;
pub mod sampling;
mod spreadsheet;
mod time_base;
mod timeline;
mod trace;
mod uncertainty;
mod units;
mod warning;

pub use accounting::{Origin, PolicyName, Rule, Scope, Semantics};
pub use call::{Call, CallError, CallSite, CallStability, Calls};
pub use census::{Census, Holding, Span};
pub use device::{Device, DeviceClass, DeviceParseError};
pub use device_table::DeviceTable;
pub use event::{Event, Lane, Step};
pub use footprint::{DeviceEnergy, Footprint, OpEnergy, StageEnergy, StepEnergy};
pub use guard::{guarded, silence_guarded_panics, survived};
pub use interval::{Interval, LEVEL, Spread};
pub use metered_series::MeteredSeries;
pub use model_tree::{DataFlow, Facts, ModelTree, NodeId, TensorShape};
pub use op::{Op, OpId, OpTable, Pass, UnknownPass};
pub use parts::{PartBalance, PartCharge, PartEnergy, StepGroup};
pub use power::{EnergySeries, PowerRecord, PowerSample, PowerSpan, PowerUnit, SeriesError};
pub use predicted::{PREDICTION_LEVEL, PredictedInterval, PredictionInterval, sum_of_passes};
pub use program::{Process, Program, ProgramSpan, SpanKind, StageTime, UnknownSpanKind, united};
pub use provenance::{Kind, UnknownKind};
pub use redact::{REDACTED, redacted};
pub use sampled::{SampleUnit, SampledPower};
pub use spreadsheet::in_spreadsheet;
pub use time_base::{BaseOrigin, Marker, TimeBase};
pub use timeline::{Part, PartKind, Stretch, Timeline};
pub use trace::{ReadCount, Trace, TraceSource};
pub use uncertainty::{WithError, standard_error_of_same, standard_error_of_sum};
pub use units::{Grams, GramsPerKwh, Joules, KilowattHours, Microjoules, Nanos, TimeRange, Watts};
pub use warning::Warning;
