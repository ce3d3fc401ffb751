//! The functions that report what a GPU does and for whom.

use std::ffi::{c_uint, c_ulonglong};

use nvml_wrapper_sys::bindings::{
    self as nvml, nvmlDevice_t, nvmlMemory_v2_t, nvmlProcessInfo_t, nvmlProcessUtilizationSample_t, nvmlReturn_t,
    nvmlUtilization_t,
};

use super::{NOT_SUPPORTED, SUCCESS, ask, give, give_all};
use crate::Busy;

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUtilizationRates(device: nvmlDevice_t, rates: *mut nvmlUtilization_t) -> nvmlReturn_t {
    let utilisation = ask(device, |gpu, _| {
        let busy: c_uint = gpu.process.iter().map(|process| process.sm).sum();
        Ok(nvmlUtilization_t { gpu: busy.min(100), memory: busy.min(100) / 2 })
    });
    give(rates, utilisation)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: nvmlDevice_t, memory: *mut nvmlMemory_v2_t) -> nvmlReturn_t {
    let (total, used) = (16 << 30, 3 << 30);
    let info =
        ask(device, |_, _| Ok(nvmlMemory_v2_t { version: 0, total, reserved: 1 << 20, free: total - used, used }));
    give(memory, info)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetClockInfo(device: nvmlDevice_t, which: c_uint, clock: *mut c_uint) -> nvmlReturn_t {
    let megahertz = if which == nvml::nvmlClockType_enum_NVML_CLOCK_SM { 1410 } else { 877 };
    give(clock, ask(device, |_, _| Ok(megahertz)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTemperature(device: nvmlDevice_t, _: c_uint, celsius: *mut c_uint) -> nvmlReturn_t {
    give(celsius, ask(device, |_, _| Ok(61)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMigMode(
    device: nvmlDevice_t,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> nvmlReturn_t {
    let mode = ask(device, |gpu, _| Ok(c_uint::from(gpu.mig)));
    match give(current, mode) {
        SUCCESS => give(pending, mode),
        error => error,
    }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetProcessUtilization(
    device: nvmlDevice_t,
    samples: *mut nvmlProcessUtilizationSample_t,
    count: *mut c_uint,
    last_seen: c_ulonglong,
) -> nvmlReturn_t {
    let said = ask(device, |gpu, now| {
        let stamp = (now.max(0.0) * 1e6) as c_ulonglong + 1;
        let sample = |process: &Busy| nvmlProcessUtilizationSample_t {
            pid: process.pid,
            timeStamp: stamp,
            smUtil: process.sm,
            memUtil: process.sm / 2,
            encUtil: 0,
            decUtil: 0,
        };
        match gpu.mig {
            true => Err(NOT_SUPPORTED),
            false if stamp <= last_seen => Ok(Vec::new()),
            false => Ok(gpu.process.iter().map(sample).collect()),
        }
    });
    give_all(samples, count, said)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: nvmlDevice_t,
    count: *mut c_uint,
    processes: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t {
    let whole = c_uint::MAX;
    let info = |process: &Busy| nvmlProcessInfo_t {
        pid: process.pid,
        usedGpuMemory: 1 << 30,
        gpuInstanceId: whole,
        computeInstanceId: whole,
    };
    give_all(processes, count, ask(device, |gpu, _| Ok(gpu.process.iter().map(info).collect())))
}
