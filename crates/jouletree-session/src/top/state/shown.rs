//! From the state to what is shown of it.

use jouletree_model::sampling::{Bounds, Stats};
use jouletree_model::{DeviceClass, Nanos, Watts};

use super::State;
use crate::top::cpu_socket::CpuSocket;
use crate::top::gauge::Gauge;
use crate::top::view::{DeviceRow, SocketRow, TreeRow, View};

impl State {
    /// What there is to show.
    pub fn view(&self, sampler: Stats) -> View {
        let devices: Vec<DeviceRow> = self.in_order().map(|gauge| self.device(gauge)).collect();
        let added: Vec<&DeviceRow> = devices.iter().filter(|row| is_added(row)).collect();
        let sockets: Vec<SocketRow> = self.sockets.iter().map(|socket| self.socket(socket)).collect();
        View {
            subject: self.subject.words.clone(),
            wall: self.wall(self.now),
            elapsed: self.began.map_or(Nanos(0), |began| self.now - began),
            kind: added.iter().map(|row| row.kind).max(),
            power: sum(added.iter().map(|row| row.power)).filter(|_| !added.is_empty()),
            energy: added.iter().map(|row| row.energy).sum(),
            own_power: sum(sockets.iter().map(|row| row.powers.map(|powers| powers.own)))
                .filter(|_| !sockets.is_empty()),
            own_energy: sockets.iter().map(|row| row.sum.own).sum(),
            devices,
            sockets,
            tree: self.subject.pid.map(|_| self.tree()),
            processes: self.ledger.entries().cloned().collect(),
            ended: self.ledger.ended(),
            unlisted: self.ledger.unlisted(),
            incidents: self.incidents.iter().cloned().collect(),
            sampler,
            lost: self.lost,
        }
    }

    /// Gauges by device, the whole before its parts.
    fn in_order(&self) -> impl Iterator<Item = &Gauge> {
        let mut gauges: Vec<&Gauge> = self.gauges.iter().collect();
        gauges.sort_by_key(|gauge| {
            let info = gauge.info();
            (
                info.device.host().to_owned(),
                info.device.class() == DeviceClass::Machine,
                info.device.clone(),
                info.domain.clone(),
            )
        });
        gauges.into_iter()
    }

    fn device(&self, gauge: &Gauge) -> DeviceRow {
        let info = gauge.info();
        let power = gauge.power(self.now);
        let interval = power
            .zip(info.quality.bounds.map(Bounds::at_95))
            .map(|(power, bounds)| (Watts(power.0 * bounds.low), Watts(power.0 * bounds.high)));
        DeviceRow {
            device: info.device.clone(),
            domain: info.domain.clone(),
            kind: info.kind,
            source: info.source.clone(),
            power,
            interval,
            minute: gauge.history().minute(self.now),
            energy: gauge.energy(),
            known: gauge.known(),
        }
    }

    fn socket(&self, socket: &CpuSocket) -> SocketRow {
        SocketRow {
            socket: socket.number(),
            powers: socket.powers(self.now),
            sum: socket.sum(),
            waiting: socket.waiting(),
        }
    }

    fn tree(&self) -> TreeRow {
        let Some(used) = self.resources.filter(|_| !self.is_over) else {
            return TreeRow { is_over: self.is_over, ..TreeRow::default() };
        };
        TreeRow {
            cpus: used.cpus,
            memory: used.proportional.unwrap_or(used.resident),
            processes: used.processes,
            threads: used.threads,
            is_over: false,
        }
    }
}

/// The sum, when all of it is known.
fn sum(powers: impl Iterator<Item = Option<Watts>>) -> Option<Watts> {
    powers.map(|power| power.map(|power| power.0)).sum::<Option<f64>>().map(Watts)
}

/// Whether a device's energy is a part of the sum: parts are in their whole, and devices in a machine that is metered
/// are still shown by themselves, the machine not.
fn is_added(row: &DeviceRow) -> bool {
    row.domain.is_none() && row.device.class() != DeviceClass::Machine
}
