//! What can be wrong with NVML, in words that help.

use std::io;
use std::path::Path;

use jouletree_model::Nanos;
use nvml_wrapper::error::NvmlError;

use crate::slow::DEADLINE;
use crate::{ReadError, Unusable};

/// Why a reading failed.
pub(super) fn failed_reading(error: NvmlError) -> ReadError {
    let message = error.to_string();
    match error {
        NvmlError::Timeout => ReadError::Late(DEADLINE),
        NvmlError::NoPermission | NvmlError::OperatingSystem => {
            ReadError::System(io::Error::new(io::ErrorKind::PermissionDenied, message))
        }
        NvmlError::GpuLost
        | NvmlError::ResetRequired
        | NvmlError::NotFound
        | NvmlError::NotSupported
        | NvmlError::InvalidArg
        | NvmlError::Uninitialized
        | NvmlError::DriverNotLoaded
        | NvmlError::FailedToLoadSymbol(_) => ReadError::Gone(message),
        _ => ReadError::System(io::Error::other(message)),
    }
}

/// Why the library cannot be used.
pub(super) fn unusable_library(path: Option<&Path>, error: &NvmlError) -> Unusable {
    let library = path.map_or("libnvidia-ml.so.1".to_owned(), |path| path.display().to_string());
    let (reason, remedy) = match error {
        NvmlError::LibloadingError(why) => (
            format!("NVIDIA's management library is not there or cannot be loaded: {why}"),
            "install it with the driver (libnvidia-compute-<version> of Ubuntu, libnvidia-ml1 of Debian):\n    \
             sudo apt install libnvidia-ml1\nor start the container so that it sees the GPUs:\n    \
             docker run --gpus all …",
        ),
        NvmlError::FailedToLoadSymbol(why) => (
            format!("{library} is not NVIDIA's management library, or one from before 2014: {why}"),
            "install a current NVIDIA driver",
        ),
        NvmlError::DriverNotLoaded => (
            "the NVIDIA driver is not loaded".to_owned(),
            "load it; `nvidia-smi` then lists the GPUs:\n    sudo modprobe nvidia",
        ),
        NvmlError::LibRmVersionMismatch => (
            "the NVIDIA driver was updated and the old one is still loaded".to_owned(),
            "restart the machine, or stop what uses the GPUs and reload the kernel modules:\n    \
             sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia",
        ),
        NvmlError::NoPermission | NvmlError::OperatingSystem => (
            format!("the system does not let us at the GPUs: {error}"),
            "look at `ls -l /dev/nvidia*`, and join the group that they belong to; start a container with --gpus all",
        ),
        other => (format!("NVML does not start: {other}"), "see whether `nvidia-smi` works and what it says"),
    };
    Unusable { reason, remedy: Some(remedy.to_owned()) }
}

pub(super) fn no_gpu() -> Unusable {
    Unusable {
        reason: "the NVIDIA driver knows of no GPU".to_owned(),
        remedy: Some("see what `nvidia-smi` and `lspci -d 10de:` list".to_owned()),
    }
}

pub(super) fn silence(after: Nanos) -> Unusable {
    Unusable {
        reason: format!("the NVIDIA driver did not answer within {after}"),
        remedy: Some("see whether `nvidia-smi` answers; `sudo dmesg | grep -i xid` shows broken GPUs".to_owned()),
    }
}

/// Why a GPU that is there reports neither energy nor power.
pub(super) fn no_power(error: &ReadError) -> Unusable {
    let remedy = match error {
        ReadError::System(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            "look at `ls -l /dev/nvidia*`, and join the group that they belong to"
        }
        _ => "see what `nvidia-smi -q -d POWER` says of it; laptop and GeForce GPUs may have no power sensor",
    };
    Unusable { reason: format!("it reports neither energy nor power: {error}"), remedy: Some(remedy.to_owned()) }
}
