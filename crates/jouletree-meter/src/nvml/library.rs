//! The driver's library: loaded when it is needed, and released when it is not needed, so that GPUs can sleep.

use std::path::Path;

use nvml_wrapper::{Device, Nvml};

use super::problem;
use crate::{ReadError, Unusable};

/// The loaded library.
pub(super) struct Library {
    /// Always there, until it is dropped.
    nvml: Option<Nvml>,
}

impl Library {
    /// Loads the library at a place, or where the loader finds it.
    pub(super) fn open(path: Option<&Path>) -> Result<Library, Unusable> {
        let mut builder = Nvml::builder();
        if let Some(path) = path {
            builder.lib_path(path.as_os_str());
        }
        let nvml = builder.init().map_err(|error| problem::unusable_library(path, &error))?;
        Ok(Library { nvml: Some(nvml) })
    }

    /// How many GPUs there are.
    pub(super) fn count(&self) -> Result<u32, Unusable> {
        let Some(nvml) = &self.nvml else { return Err(problem::no_gpu()) };
        match nvml.device_count() {
            Ok(0) => Err(problem::no_gpu()),
            Ok(count) => Ok(count),
            Err(error) => Err(problem::unusable_library(None, &error)),
        }
    }

    /// A GPU by its number.
    pub(super) fn device(&self, index: u32) -> Result<Device<'_>, ReadError> {
        let Some(nvml) = &self.nvml else { return Err(ReadError::Gone("NVML is closed".to_owned())) };
        nvml.device_by_index(index).map_err(problem::failed_reading)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // Dropping it calls nvmlShutdown and panics if there is none: a library that odd stays loaded.
        if let Some(nvml) = self.nvml.take_if(|nvml| nvml.lib().nvmlShutdown.is_err()) {
            std::mem::forget(nvml);
        }
    }
}
