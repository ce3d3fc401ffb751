//! Whose shares split the energy of a sensor.

use jouletree_model::DeviceClass;
use jouletree_model::sampling::SensorInfo;

use super::book::ShareBook;
use super::split::{Increment, Split, split};

/// Whose shares cut the energy of a sensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Those of the tree in what the CPUs of a socket do; a socket's memory is cut like the socket.
    Socket(u32),
    /// Those of the tree in what a GPU does.
    Gpu(u32),
    /// It is not known who uses a whole machine's energy.
    Untold,
    /// The part of a device is not cut.
    Part,
}

impl Cut {
    /// For the energy of this sensor.
    pub fn of(info: &SensorInfo) -> Cut {
        match info.device.class() {
            _ if info.domain.is_some() => Cut::Part,
            DeviceClass::Cpu | DeviceClass::Dram => Cut::Socket(info.device.index()),
            DeviceClass::Gpu => Cut::Gpu(info.device.index()),
            DeviceClass::Machine => Cut::Untold,
        }
    }

    /// Those shares, and by which number; `None` where it is not known who uses the energy.
    pub fn book<'b>(self, sockets: &'b ShareBook, gpus: &'b ShareBook) -> Option<(&'b ShareBook, u32)> {
        match self {
            Cut::Socket(number) => Some((sockets, number)),
            Cut::Gpu(number) => Some((gpus, number)),
            Cut::Untold | Cut::Part => None,
        }
    }

    /// Cuts increments in the order of time, by what was reported for sockets and of GPUs.
    pub fn split(self, increments: &[Increment], sockets: &ShareBook, gpus: &ShareBook) -> Vec<Split> {
        let Some((book, number)) = self.book(sockets, gpus) else {
            let unknown = |increment: &Increment| Split { unknown: increment.energy, ..Split::default() };
            return increments.iter().map(unknown).collect();
        };
        split(increments, book.of(number), number)
    }
}
