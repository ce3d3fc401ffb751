//! What the power rails of NVIDIA's Jetson boards feed, by the labels of their monitors.

use jouletree_model::{Device, DeviceClass};

/// What a rail feeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rail {
    /// One device, or a device and little else.
    Whole(Device),
    /// The whole board.
    Board,
    /// Something that is no device of its own, or several at once.
    Other,
}

/// What a rail feeds. Names are those of the boards' own documentation; `CV` is the vision accelerators, which idle
/// in most programs, and `SOC` the rest of the chip.
pub(super) fn rail(label: &str) -> Rail {
    let whole = |class| Rail::Whole(Device::new(class, 0));
    match label.to_ascii_uppercase().as_str() {
        "CPU" | "VDD_CPU" | "VDD_SYS_CPU" | "POM_5V_CPU" | "VDD_CPU_CV" => whole(DeviceClass::Cpu),
        "GPU" | "VDD_GPU" | "VDD_SYS_GPU" | "POM_5V_GPU" | "VDD_GPU_SOC" => whole(DeviceClass::Gpu),
        "VDDRQ" | "VDD_DDR" | "VDD_SYS_DDR" | "VDDQ_VDD2_1V8AO" => whole(DeviceClass::Dram),
        "VDD_IN" | "POM_5V_IN" => Rail::Board,
        _ => Rail::Other,
    }
}
