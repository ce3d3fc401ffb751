//! What hardware for some hours would use and emit, before it runs.

mod answer;
mod lines;

pub use answer::{Answer, Machines, Question, QuestionError, Region, Table};
pub use lines::{Line, lines};
