//! Batches: what a session brings, a few times a second.

use super::{Anchor, GpuSample, Incident, ResourceSample, Sample, SensorInfo, ShareSample, Stats};
use crate::Nanos;

/// Everything that happened since the batch before.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// Its number in the session, from zero. A number that is missing was lost.
    pub number: u64,
    /// Readings of all sensors, by sensor in the order of their time.
    pub samples: Vec<Sample>,
    /// The shares of the process tree, one for each socket and window; none when no process is watched.
    pub shares: Vec<ShareSample>,
    /// What the tree and its machine use; none when no process is watched.
    pub resources: Vec<ResourceSample>,
    /// What GPUs are doing.
    pub gpus: Vec<GpuSample>,
    /// What ties the clock of all this to the time of day. The first batch has at least one.
    pub anchors: Vec<Anchor>,
    /// What happened.
    pub incidents: Vec<Incident>,
    /// The processes of the tree that live, the first thousand; none when no process is watched.
    pub processes: Vec<u32>,
    /// Samples of this session that were dropped before this batch because the buffer was full.
    pub lost: u64,
}

/// What is known at the end of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ending {
    /// The sensors, with what they learned about themselves, in the order of [`Sample::sensor`].
    pub sensors: Vec<SensorInfo>,
    /// What a person should know about the numbers.
    pub remarks: Vec<String>,
    /// How well the sampler kept time, since it began: it may be older than the session.
    pub stats: Stats,
    /// The source of the tree's CPU time; known from the beginning.
    pub share_source: Option<String>,
    /// The processor time of the tree.
    pub tree_time: Nanos,
    /// The processor time that monitoring took since the session began, for all sessions together.
    pub own_time: Nanos,
}
