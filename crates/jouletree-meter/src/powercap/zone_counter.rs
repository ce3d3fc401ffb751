//! The counter of one zone, which may go away and come back: its driver can be unloaded and loaded again.

use std::io;
use std::path::PathBuf;

use super::zone::Zone;
use crate::ReadError;
use crate::number_file::{NumberFile, line};

/// One zone's counter, kept open.
#[derive(Debug)]
pub(super) struct ZoneCounter {
    file: NumberFile,
    path: PathBuf,
    name: Option<String>,
    range: u64,
}

impl ZoneCounter {
    pub fn open(zone: &Zone) -> io::Result<NumberFile> {
        NumberFile::open(&zone.energy_file())
    }

    /// The largest count of a zone, as its driver reports it.
    pub fn range_of(path: &std::path::Path) -> Option<u64> {
        let range = line(&path.join("max_energy_range_uj")).and_then(|text| text.parse::<u64>().ok());
        range.filter(|range| *range > 0)
    }

    pub fn new(zone: &Zone, file: NumberFile, range: u64) -> ZoneCounter {
        ZoneCounter { file, path: zone.path.clone(), name: zone.name.clone(), range }
    }

    pub fn file(&self) -> &NumberFile {
        &self.file
    }

    /// Its count. A file whose driver went away is opened anew: the old descriptor stays dead for ever, even when the
    /// driver is back.
    #[inline]
    pub fn read(&mut self) -> Result<u64, ReadError> {
        match self.file.read() {
            Err(ReadError::Gone(_)) => self.read_anew(),
            // An attribute of a living driver never says nothing.
            Err(ReadError::Garbage(said)) if said.is_empty() => self.read_anew(),
            Ok(count) if count > self.range => Err(ReadError::OutOfRange { count, range: self.range }),
            said => said,
        }
    }

    #[cold]
    fn read_anew(&mut self) -> Result<u64, ReadError> {
        let file = NumberFile::open(&self.path.join("energy_uj")).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ReadError::Gone(error.to_string()),
            _ => ReadError::System(error),
        })?;
        // Zones are numbered as they come, so another may have taken the place.
        if line(&self.path.join("name")) != self.name || ZoneCounter::range_of(&self.path) != Some(self.range) {
            return Err(ReadError::Gone(format!("{} is another zone now", self.path.display())));
        }
        let count = file.read()?;
        self.file = file;
        if count > self.range {
            return Err(ReadError::OutOfRange { count, range: self.range });
        }
        Ok(count)
    }
}
