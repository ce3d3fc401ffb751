//! Folded stacks: a line for each stack, its frames parted by semicolons, and whole microjoules behind a space.
//!
//! flamegraph.pl reads decimals, inferno cuts them off: hence whole numbers. Both take a frame that ends in a space and a
//! number for a second count: hence no spaces in frames.

use std::io::Write;

use jouletree_model::Footprint;

use super::ExportError;
use super::stacks::{by_device, is_told_by_others};

pub(super) fn write(footprint: &Footprint, output: &mut dyn Write) -> Result<(), ExportError> {
    let mut devices = by_device(footprint);
    devices.retain(|device| device.balance.total.is_some() && !is_told_by_others(device.balance, footprint));
    // One device needs no name; the outermost frame distinguishes several.
    let is_named = devices.len() > 1;
    let mut is_empty = true;
    for device in &devices {
        for stack in &device.stacks {
            let microjoules = (stack.energy.0 * 1e6).round();
            if microjoules < 1.0 {
                continue;
            }
            is_empty = false;
            let name = is_named.then(|| device.balance.device.to_string());
            let frames = name.iter().chain(&stack.frames).map(|frame| plain(frame));
            writeln!(output, "{} {microjoules:.0}", frames.collect::<Vec<_>>().join(";"))?;
        }
    }
    if is_empty { Err(ExportError::Nothing) } else { Ok(()) }
}

/// A frame without what parts frames, lines and counts.
fn plain(frame: &str) -> String {
    let plain = |c: char| match c {
        ';' => ':',
        c if c.is_whitespace() || c.is_control() => '_',
        c => c,
    };
    frame.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_looks_like_an_end() {
        assert_eq!(plain("a b;c\nd\t9\u{a0}8 7"), "a_b:c_d_9_8_7");
        assert_eq!(plain("<script>'\"é"), "<script>'\"é");
    }
}
