//! What a GPU is doing: for the log of resources, and for the share of a process tree in it.

use std::collections::HashSet;

use jouletree_model::sampling::{GpuShare, GpuUse, ShareBasis};
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;

use super::gpu::Gpu;
use super::problem::failed_reading;
use crate::ReadError;

impl Gpu {
    /// What it is doing. It may block for as long as the driver likes.
    pub fn use_now(&self) -> Result<GpuUse, ReadError> {
        let device = self.library.device(self.index)?;
        let rates = supported(device.utilization_rates())?;
        let memory = supported(device.memory_info())?;
        Ok(GpuUse {
            busy: rates.as_ref().map(|rates| f64::from(rates.gpu) / 100.0),
            memory_busy: rates.as_ref().map(|rates| f64::from(rates.memory) / 100.0),
            memory_used: memory.as_ref().map(|memory| memory.used),
            memory_total: memory.as_ref().map(|memory| memory.total),
            sm_clock: supported(device.clock_info(Clock::SM))?,
            memory_clock: supported(device.clock_info(Clock::Memory))?,
            temperature: supported(device.temperature(TemperatureSensor::Gpu))?,
        })
    }

    /// Whether it is cut into instances that are used apart: its energy is that of all of them together.
    pub fn is_cut_into_instances(&self) -> Result<bool, ReadError> {
        let mode = supported(self.library.device(self.index)?.mig_mode())?;
        Ok(mode.is_some_and(|mode| mode.current != 0))
    }

    /// What part of its activity in the last second or so belongs to the processes `pids`; `None` when it cannot be
    /// known: the GPU does not say, or does not know these processes. It knows them by the numbers that they have outside
    /// of any container.
    pub fn share_of(&self, pids: &HashSet<u32>) -> Result<Option<GpuShare>, ReadError> {
        let device = self.library.device(self.index)?;
        let Some(running) = supported(device.running_compute_processes())? else { return Ok(None) };
        if !running.iter().any(|process| pids.contains(&process.pid)) {
            return Ok(None);
        }
        if running.iter().all(|process| pids.contains(&process.pid)) {
            return Ok(Some(GpuShare { share: 1.0, basis: ShareBasis::Alone }));
        }
        share_by_utilisation(&device, pids)
    }
}

fn share_by_utilisation(device: &Device<'_>, pids: &HashSet<u32>) -> Result<Option<GpuShare>, ReadError> {
    let Some(samples) = supported(device.process_utilization_stats(None))? else { return Ok(None) };
    let busy = |ours: bool| -> u64 {
        let samples = samples.iter().filter(|sample| !ours || pids.contains(&sample.pid));
        samples.map(|sample| u64::from(sample.sm_util)).sum()
    };
    let (ours, all) = (busy(true), busy(false));
    let share = |_| GpuShare { share: ours as f64 / all as f64, basis: ShareBasis::Utilisation };
    Ok((all > 0).then_some(()).map(share))
}

/// The value; `None` when this GPU or this driver does not report it.
fn supported<T>(result: Result<T, NvmlError>) -> Result<Option<T>, ReadError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(
            NvmlError::NotSupported
            | NvmlError::FailedToLoadSymbol(_)
            | NvmlError::FunctionNotFound
            | NvmlError::NoPermission
            | NvmlError::NotFound
            | NvmlError::NoData
            | NvmlError::UnexpectedVariant(_),
        ) => Ok(None),
        Err(error) => Err(failed_reading(error)),
    }
}
