//! Meters among the kernel's hardware monitors: graphics cards, superchips, boards with power rails.
//!
//! | chip | is read from | device |
//! |---|---|---|
//! | `amdgpu`, a card | `energy1_input`, else `power1_input`, else `power1_average` | gpu |
//! | `amdgpu`, a part of a processor | the same | cpu:0, domain `apu`: it holds the processor, too |
//! | `i915`, `xe` | `energyN_input`; `power1_input` | gpu; what is labelled `pkg` is a domain |
//! | `amd_energy` | `energyN_input` labelled `EsocketN` | cpu:N; single cores are left out |
//! | `power_meter` of NVIDIA Grace | `power1_average`, by `power1_oem_info` | *Grace*: cpu:N; *CPU*, *SysIO*, *Module*: domains `cpu`, `sysio`, `module` |
//! | `power_meter` of other boards | `power1_average` | cpu:0, domain `machine` |
//! | `ina3221` of NVIDIA Jetson | `inN_input` × `currN_input`, by `inN_label` | a rail of one device: that device; the board's input: cpu:0, domain `board` |
//!
//! `module`, `machine`, `board` and `apu` are other totals, not parts; as domains they are never added to anything.
//! Cards are numbered in the order of their addresses on the bus, after those that another interface has numbered.
//! What reports only power is integrated here, by trapezoids between readings, and is *derived*. Whatever else shows
//! energy or power is listed with the reason why it is left out: what it meters is not known.

mod chip;
mod integral;
mod rails;
mod rules;
mod sensor;

use jouletree_host::Roots;

use crate::{Found, once};

/// Every monitor of energy or power, usable or not; cards are numbered from `first_gpu`.
pub fn discover(roots: &Roots, first_gpu: u32) -> Vec<Found> {
    let chips = chip::chips(&roots.sys.join("class/hwmon"));
    once(rules::meters(&chips, first_gpu).into_iter().map(sensor::found).collect())
}
