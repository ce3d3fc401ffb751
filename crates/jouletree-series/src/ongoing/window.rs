//! A window that a program asked for.

use jouletree_model::{Nanos, TimeRange};

use super::DeviceEnergy;
use super::course::Course;
use super::edge::Edge;
use crate::Estimate;
use crate::share::{ShareBook, Split};

/// A window that is open, or has ended and is not answered.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) start: Nanos,
    pub(super) end: Option<Nanos>,
    /// Whether the meters were heard since it began.
    pub(super) is_whole: bool,
    /// Where the sums of each sensor stood when it began, as soon as nothing will change that.
    edges: Vec<Option<Edge>>,
}

impl Window {
    pub(super) fn new(start: Nanos, courses: usize) -> Window {
        Window { start, end: None, is_whole: true, edges: vec![None; courses] }
    }

    /// Notes where sums stood when it began, where that is settled; says whether it is everywhere.
    pub(super) fn begin(&mut self, courses: &[Course], books: [&ShareBook; 2]) -> bool {
        let mut is_settled = true;
        for (edge, course) in self.edges.iter_mut().zip(courses) {
            if edge.is_none() {
                match course.start_edge(self.start, books, false) {
                    Some((found, is_whole)) => {
                        *edge = Some(found);
                        self.is_whole &= is_whole;
                    }
                    None => is_settled = false,
                }
            }
        }
        is_settled
    }

    /// The energy of every device up to an instant, as it is known, and whether all of it is.
    pub(super) fn energies(
        &self,
        courses: &[Course],
        books: [&ShareBook; 2],
        end: Nanos,
    ) -> (bool, Vec<DeviceEnergy>) {
        let window = TimeRange { start: self.start, end };
        let mut is_whole = self.is_whole;
        let energy_of = |(edge, course): (&Option<Edge>, &Course)| {
            let begun = edge.map(|edge| (edge, true)).or_else(|| course.start_edge(self.start, books, true));
            let (energy, parts) = match (begun, course.end_edge(end, books)) {
                (Some((start, is_seen)), Some(end)) => {
                    is_whole &= is_seen;
                    start.to(&end, window, &course.unsure)
                }
                _ => (Estimate::NOTHING, Split::default()),
            };
            DeviceEnergy { device: course.info.device.clone(), kind: course.info.kind, energy, parts }
        };
        let devices = self.edges.iter().zip(courses).map(energy_of).collect();
        (is_whole, devices)
    }
}
