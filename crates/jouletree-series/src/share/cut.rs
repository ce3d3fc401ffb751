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

    /// Cuts increments in the order of time, by what was reported for sockets and of GPUs.
    pub fn split(self, increments: &[Increment], sockets: &ShareBook, gpus: &ShareBook) -> Vec<Split> {
        let (book, number) = match self {
            Cut::Socket(number) => (sockets, number),
            Cut::Gpu(number) => (gpus, number),
            Cut::Untold | Cut::Part => {
                let unknown = |increment: &Increment| Split { unknown: increment.energy, ..Split::default() };
                return increments.iter().map(unknown).collect();
            }
        };
        split(increments, book.of(number), number)
    }
}
