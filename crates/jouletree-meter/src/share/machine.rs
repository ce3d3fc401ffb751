//! What all CPUs of a machine do, by socket: the kernel's `stat`, read at most a hundred times a second.

use std::path::PathBuf;

use jouletree_host::Roots;

use crate::ReadError;
use crate::number_file::line;
use crate::proc_stat::StatFile;

/// The ticks of some CPUs over some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// They worked for this machine, its guests included.
    pub busy: u64,
    /// They had nothing to do, or waited for a disk.
    pub idle: u64,
    /// They worked for another machine of the same host: neither ours nor anybody's here.
    pub stolen: u64,
}

impl CpuTicks {
    pub(super) fn add(&mut self, more: CpuTicks) {
        self.busy = self.busy.saturating_add(more.busy);
        self.idle = self.idle.saturating_add(more.idle);
        self.stolen = self.stolen.saturating_add(more.stolen);
    }

    /// What was added since; a count that fell (the kernel corrects idle time backwards) added nothing.
    fn since(self, earlier: CpuTicks) -> CpuTicks {
        CpuTicks {
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }
}

/// What the CPUs of a socket did between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SocketTicks {
    /// The sum over its CPUs.
    pub ticks: CpuTicks,
    /// The CPUs that were there at both looks.
    pub cpus: u32,
}

/// The CPUs of a machine.
#[derive(Debug)]
pub struct Machine {
    file: StatFile,
    sys: PathBuf,
    cpus: Vec<Cpu>,
    /// The numbers of the sockets, in order.
    sockets: Vec<u32>,
    since: Vec<SocketTicks>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    /// The place of its socket; `None` when the CPU was never seen.
    socket: Option<usize>,
    ticks: Option<CpuTicks>,
    is_fresh: bool,
}

impl Machine {
    /// The machine, with its CPUs as they are now.
    pub fn open(roots: &Roots) -> Result<Machine, ReadError> {
        let mut machine = Machine {
            file: StatFile::open(&roots.proc.join("stat"))?,
            sys: roots.sys.join("devices/system/cpu"),
            cpus: Vec::new(),
            sockets: Vec::new(),
            since: Vec::new(),
        };
        machine.look()?;
        Ok(machine)
    }

    /// The sockets by the numbers that the system gives them, in the order of [`Machine::look`].
    pub fn sockets(&self) -> &[u32] {
        &self.sockets
    }

    /// The place of the socket of a CPU.
    pub fn socket_of(&self, cpu: u32) -> Option<usize> {
        self.cpus.get(usize::try_from(cpu).ok()?)?.socket
    }

    /// What each socket did between the last two looks.
    pub fn since(&self) -> &[SocketTicks] {
        &self.since
    }

    /// What each socket did since the look before; a CPU that came back or went away meanwhile is left out. Allocates
    /// only when a CPU is seen for the first time.
    pub fn look(&mut self) -> Result<&[SocketTicks], ReadError> {
        let Machine { file, sys, cpus, sockets, since } = self;
        let text = file.read()?;
        since.iter_mut().for_each(|socket| *socket = SocketTicks::default());
        cpus.iter_mut().for_each(|cpu| cpu.is_fresh = false);
        for one in text.each() {
            let (index, ticks) = match one {
                Ok(one) => one,
                Err(error) => {
                    // Half a look is none: the next begins anew.
                    cpus.iter_mut().for_each(|cpu| cpu.ticks = None);
                    return Err(error);
                }
            };
            if cpus.len() <= index {
                cpus.resize(index + 1, Cpu::default());
            }
            let Some(cpu) = cpus.get_mut(index) else { continue };
            let place = *cpu.socket.get_or_insert_with(|| place_of(sockets, since, package(sys, index)));
            if let (Some(earlier), Some(socket)) = (cpu.ticks, since.get_mut(place)) {
                socket.ticks.add(ticks.since(earlier));
                socket.cpus += 1;
            }
            (cpu.ticks, cpu.is_fresh) = (Some(ticks), true);
        }
        if !cpus.iter().any(|cpu| cpu.is_fresh) {
            return Err(text.nonsense());
        }
        for cpu in cpus.iter_mut().filter(|cpu| !cpu.is_fresh) {
            cpu.ticks = None;
        }
        Ok(since)
    }
}

/// The socket of a CPU; the first where it is unknown.
pub(crate) fn package(sys: &std::path::Path, cpu: usize) -> u32 {
    let said = line(&sys.join(format!("cpu{cpu}/topology/physical_package_id")));
    // Some boards say -1 for "there is but one".
    said.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn place_of(sockets: &mut Vec<u32>, since: &mut Vec<SocketTicks>, socket: u32) -> usize {
    sockets.iter().position(|known| *known == socket).unwrap_or_else(|| {
        sockets.push(socket);
        since.push(SocketTicks::default());
        sockets.len() - 1
    })
}
