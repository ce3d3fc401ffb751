//! Where the processor time of a process tree would come from: tried on a process that does nothing.

use std::process::{Child, Command, Stdio};

use jouletree_host::Roots;
use jouletree_meter::share::{Tree, TreeTime};

use super::{ProcessShare, RefusedRow};

/// A process that waits for input that never comes, and ends with this one.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What works here, and what refuses the better sources.
pub(super) fn tried(roots: &Roots) -> ProcessShare {
    let waiting = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let waiting = match waiting {
        Ok(child) => Waiting(child),
        Err(error) => return nothing(format!("no process could be started to try it on: {error}")),
    };
    let tree = match Tree::watch(roots, waiting.0.id()) {
        Ok(tree) => tree,
        Err(error) => return nothing(error.to_string()),
    };
    let time = TreeTime::start(roots, tree);
    let refused = time.refused().iter().map(|(source, why)| RefusedRow {
        source: source.to_string(),
        reason: why.reason.clone(),
        remedy: why.remedy.clone(),
    });
    ProcessShare {
        source: Some(time.source().to_string()),
        step_s: Some(time.source().resolution().seconds()),
        refused: refused.collect(),
    }
}

fn nothing(reason: String) -> ProcessShare {
    let refused = RefusedRow { source: "processes".to_owned(), reason, remedy: None };
    ProcessShare { source: None, step_s: None, refused: vec![refused] }
}
