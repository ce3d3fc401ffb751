//! Power over one call, drawn.

use std::path::Path;

use anyhow::{Result, bail};
use jouletree_host::whole;
use jouletree_report::{CallPicture, CallTrack, Figure, FigureFormat};
use jouletree_run::RunError;

use super::measured::{Measured, MeasuredCall};

/// Draws a call, chosen by the number of any of its rows, on all its devices.
pub fn write(measured: &Measured, chosen: Option<usize>, file: &Path) -> Result<()> {
    let format = match file.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => FigureFormat::Svg,
        Some("pdf") => FigureFormat::Pdf,
        Some("png") => FigureFormat::Png,
        _ => bail!("{}: name the figure with .svg, .pdf or .png", file.display()),
    };
    if file.symlink_metadata().is_ok() {
        bail!(RunError::Exists(file.to_owned()));
    }
    let drawable = || measured.calls.iter().filter(|call| call.drawn.is_some());
    let Some(call) = measured.chosen(chosen, |call| call.drawn.is_some()) else {
        bail!(
            "there is no such call with samples; `jouletree calls … --by call` lists calls, and tables keep no samples"
        )
    };
    let of_call = |other: &&MeasuredCall| {
        (&other.row.project, other.row.run, other.row.call) == (&call.row.project, call.row.run, call.row.call)
    };
    let tracks = drawable().filter(of_call).filter_map(|other| {
        let drawn = other.drawn.as_ref()?;
        Some(CallTrack {
            device: other.energy.device.clone(),
            kind: drawn.kind,
            series: &drawn.series,
            window: drawn.window,
            baseline: drawn.baseline,
            tail: drawn.tail,
        })
    });
    let picture = CallPicture { name: call.row.function.clone(), tracks: tracks.collect() };
    let Some(figure) = Figure::of_call(&picture) else {
        bail!("no power is known around {}; there is nothing to draw", call.row.function)
    };
    whole::write(file, &figure.bytes(format)?)?;
    writeln_stderr!("jouletree: wrote {}", file.display());
    Ok(())
}
