//! The functions of NVIDIA's library, as C sees them. Each asks the player and hands over what it says.
#![allow(unsafe_code, reason = "a C interface: it exports symbols and writes through its callers' pointers")]
#![allow(non_snake_case, reason = "the functions' names are NVIDIA's")]

mod usage;

use std::ffi::{c_char, c_int, c_uint, c_ulonglong};
use std::ptr;

use nvml_wrapper_sys::bindings::{self as nvml, nvmlDevice_t, nvmlFieldValue_t, nvmlPciInfo_t, nvmlReturn_t};

use crate::Gpu;
use crate::play::{self, Code};

const NOT_SUPPORTED: Code = nvml::nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED;
const TOO_SMALL: Code = nvml::nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE;
const SUCCESS: Code = nvml::nvmlReturn_enum_NVML_SUCCESS;

/// Hands a value to the caller.
fn give<T>(place: *mut T, value: Result<T, Code>) -> nvmlReturn_t {
    match value {
        Err(code) => code,
        Ok(_) if place.is_null() => nvml::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT,
        Ok(value) => {
            // SAFETY: NVML's contract is that a pointer that is not null can be written to.
            unsafe { ptr::write(place, value) };
            SUCCESS
        }
    }
}

/// Hands a list to the caller who says how many fit, or says how many there are.
fn give_all<T: Copy>(places: *mut T, count: *mut c_uint, values: Result<Vec<T>, Code>) -> nvmlReturn_t {
    let values = match values {
        Ok(values) => values,
        Err(code) => return code,
    };
    // SAFETY: NVML's contract is that the count can be read and written, and that so many values can be written.
    unsafe {
        let room = ptr::replace(count, values.len() as c_uint) as usize;
        if room < values.len() || (places.is_null() && !values.is_empty()) {
            return TOO_SMALL;
        }
        for (i, value) in values.iter().enumerate() {
            ptr::write(places.add(i), *value);
        }
    }
    SUCCESS
}

/// Hands a text to the caller, closed by a zero.
fn give_text(places: *mut c_char, room: c_uint, text: Result<String, Code>) -> nvmlReturn_t {
    let text = text.map(|text| text.bytes().chain([0]).map(|byte| byte as c_char).collect());
    let mut room = room;
    give_all(places, &mut room, text)
}

/// Asks the GPU behind a handle, which is its number plus one.
fn ask<T>(device: nvmlDevice_t, answer: impl FnOnce(&Gpu, f64) -> Result<T, Code>) -> Result<T, Code> {
    let player = play::player()?;
    let index = device.addr().checked_sub(1).ok_or(nvml::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT)?;
    let (gpu, now) = player.gpu(index)?;
    answer(gpu, now)
}

fn code(result: Result<(), Code>) -> nvmlReturn_t {
    result.err().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    code(play::init())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    code(play::shutdown())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, room: c_uint) -> nvmlReturn_t {
    give_text(version, room, Ok("550.0.fake".to_owned()))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> nvmlReturn_t {
    give(count, play::player().map(|player| player.count() as c_uint))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, device: *mut nvmlDevice_t) -> nvmlReturn_t {
    let known = play::player().and_then(|player| {
        let is_there = (index as usize) < player.count();
        is_there.then_some(()).ok_or(nvml::nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT)
    });
    give(device, known.map(|()| ptr::without_provenance_mut(index as usize + 1)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetIndex(device: nvmlDevice_t, index: *mut c_uint) -> nvmlReturn_t {
    give(index, ask(device, |_, _| Ok(device.addr() as c_uint - 1)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetName(device: nvmlDevice_t, name: *mut c_char, room: c_uint) -> nvmlReturn_t {
    give_text(name, room, ask(device, |gpu, _| Ok(gpu.name.clone())))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUUID(device: nvmlDevice_t, uuid: *mut c_char, room: c_uint) -> nvmlReturn_t {
    give_text(uuid, room, ask(device, |_, _| Ok(format!("GPU-fake-{}", device.addr() - 1))))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPciInfo_v3(device: nvmlDevice_t, pci: *mut nvmlPciInfo_t) -> nvmlReturn_t {
    let info = ask(device, |_, _| {
        let bus = device.addr() as c_uint;
        let mut info = nvmlPciInfo_t {
            busIdLegacy: [0; 16],
            domain: 0,
            bus,
            device: 0,
            pciDeviceId: 0,
            pciSubSystemId: 0,
            busId: [0; 32],
        };
        for (place, byte) in info.busId.iter_mut().zip(format!("00000000:{bus:02X}:00.0").bytes()) {
            *place = byte as c_char;
        }
        Ok(info)
    });
    give(pci, info)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetArchitecture(device: nvmlDevice_t, architecture: *mut c_uint) -> nvmlReturn_t {
    give(architecture, ask(device, |gpu, _| Ok(gpu.architecture)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetEnforcedPowerLimit(device: nvmlDevice_t, limit: *mut c_uint) -> nvmlReturn_t {
    give(limit, ask(device, |gpu, _| Ok((gpu.limit_watts * 1e3) as c_uint)))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPowerUsage(device: nvmlDevice_t, power: *mut c_uint) -> nvmlReturn_t {
    let milliwatts =
        ask(device, |gpu, now| gpu.power_usage.then(|| gpu.average_milliwatts(now)).ok_or(NOT_SUPPORTED));
    give(power, milliwatts)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTotalEnergyConsumption(device: nvmlDevice_t, energy: *mut c_ulonglong) -> nvmlReturn_t {
    let millijoules =
        ask(device, |gpu, now| gpu.energy_counter.then(|| gpu.counted_millijoules(now)).ok_or(NOT_SUPPORTED));
    give(energy, millijoules)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    count: c_int,
    values: *mut nvmlFieldValue_t,
) -> nvmlReturn_t {
    for i in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: NVML's contract is that there are `count` values with their field numbers set.
        let value = unsafe { &mut *values.add(i) };
        let said = ask(device, |gpu, now| match value.fieldId {
            nvml::field_id::NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION if gpu.energy_counter => {
                Ok(gpu.counted_millijoules(now))
            }
            nvml::field_id::NVML_FI_DEV_POWER_AVERAGE if gpu.instant_power => {
                Ok(u64::from(gpu.average_milliwatts(now)))
            }
            nvml::field_id::NVML_FI_DEV_POWER_INSTANT if gpu.instant_power => {
                Ok(u64::from(gpu.instant_milliwatts(now)))
            }
            _ => Err(NOT_SUPPORTED),
        });
        value.nvmlReturn = said.err().unwrap_or(SUCCESS);
        value.valueType = nvml::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        value.value.ullVal = said.unwrap_or(0);
        if value.nvmlReturn == nvml::nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST {
            return value.nvmlReturn;
        }
    }
    SUCCESS
}
