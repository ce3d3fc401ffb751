//! Shares, resources and the use of GPUs on the wire.

use jouletree_model::sampling::{GpuSample, GpuShare, GpuUse, Mono, ResourceSample, ShareBasis, ShareSample};

use super::columns::{all_of, at, deltas, known, known_plus_one, known_u32, not_nan, or_nan, sums};
use super::{WireError, v1};

pub(super) fn shares(shares: &[ShareSample]) -> v1::Shares {
    v1::Shares {
        from_delta: deltas(shares.iter().map(|share| share.from.0)),
        lasting: shares.iter().map(|share| share.at.0.wrapping_sub(share.from.0)).collect(),
        socket: shares.iter().map(|share| share.socket).collect(),
        ours: shares.iter().map(|share| share.ours).collect(),
        others: shares.iter().map(|share| share.others).collect(),
        idle: shares.iter().map(|share| share.idle).collect(),
        own: shares.iter().map(|share| share.own).collect(),
    }
}

pub(super) fn shares_from(packed: &v1::Shares) -> Result<Vec<ShareSample>, WireError> {
    const NAME: &str = "shares";
    let v1::Shares { from_delta, lasting, socket, ours, others, idle, own } = packed;
    let lengths = [lasting.len(), socket.len(), ours.len(), others.len(), idle.len(), own.len()];
    all_of(from_delta.len(), &lengths, NAME)?;
    let rows = sums(from_delta).enumerate();
    rows.map(|(row, from)| {
        Ok(ShareSample {
            from: Mono(from),
            at: Mono(from.wrapping_add(at(lasting, row, NAME)?)),
            socket: at(socket, row, NAME)?,
            ours: at(ours, row, NAME)?,
            others: at(others, row, NAME)?,
            idle: at(idle, row, NAME)?,
            own: at(own, row, NAME)?,
        })
    })
    .collect()
}

pub(super) fn resources(log: &[ResourceSample]) -> v1::Resources {
    v1::Resources {
        at_delta: deltas(log.iter().map(|sample| sample.at.0)),
        cpus: log.iter().map(|sample| sample.cpus).collect(),
        machine_busy: log.iter().map(|sample| or_nan(sample.machine_busy)).collect(),
        resident: log.iter().map(|sample| sample.resident).collect(),
        proportional: log.iter().map(|sample| known_plus_one(sample.proportional)).collect(),
        memory_total: log.iter().map(|sample| known_plus_one(sample.memory_total)).collect(),
        memory_available: log.iter().map(|sample| known_plus_one(sample.memory_available)).collect(),
        processes: log.iter().map(|sample| sample.processes as u64).collect(),
        threads: log.iter().map(|sample| sample.threads as u64).collect(),
    }
}

pub(super) fn resources_from(packed: &v1::Resources) -> Result<Vec<ResourceSample>, WireError> {
    const NAME: &str = "resources";
    let lengths = [
        packed.cpus.len(),
        packed.machine_busy.len(),
        packed.resident.len(),
        packed.proportional.len(),
        packed.memory_total.len(),
        packed.memory_available.len(),
        packed.processes.len(),
        packed.threads.len(),
    ];
    all_of(packed.at_delta.len(), &lengths, NAME)?;
    let count = |column: &[u64], row| {
        usize::try_from(at(column, row, NAME)?).map_err(|_| WireError::Value("number of processes"))
    };
    let rows = sums(&packed.at_delta).enumerate();
    rows.map(|(row, time)| {
        Ok(ResourceSample {
            at: Mono(time),
            cpus: at(&packed.cpus, row, NAME)?,
            machine_busy: not_nan(at(&packed.machine_busy, row, NAME)?),
            resident: at(&packed.resident, row, NAME)?,
            proportional: known(at(&packed.proportional, row, NAME)?),
            memory_total: known(at(&packed.memory_total, row, NAME)?),
            memory_available: known(at(&packed.memory_available, row, NAME)?),
            processes: count(&packed.processes, row)?,
            threads: count(&packed.threads, row)?,
        })
    })
    .collect()
}

pub(super) fn gpus(samples: &[GpuSample]) -> v1::Gpus {
    let column = |value: fn(&GpuUse) -> Option<u64>| -> Vec<u64> {
        samples.iter().map(|sample| known_plus_one(value(&sample.used))).collect()
    };
    v1::Gpus {
        at_delta: deltas(samples.iter().map(|sample| sample.at.0)),
        gpu: samples.iter().map(|sample| sample.gpu).collect(),
        busy: samples.iter().map(|sample| or_nan(sample.used.busy)).collect(),
        memory_busy: samples.iter().map(|sample| or_nan(sample.used.memory_busy)).collect(),
        memory_used: column(|used| used.memory_used),
        memory_total: column(|used| used.memory_total),
        sm_clock: column(|used| used.sm_clock.map(u64::from)),
        memory_clock: column(|used| used.memory_clock.map(u64::from)),
        temperature: column(|used| used.temperature.map(u64::from)),
        share: samples.iter().map(|sample| or_nan(sample.share.map(|share| share.share))).collect(),
        share_is_by_utilisation: samples
            .iter()
            .map(|sample| sample.share.is_some_and(|share| share.basis == ShareBasis::Utilisation))
            .collect(),
    }
}

pub(super) fn gpus_from(packed: &v1::Gpus) -> Result<Vec<GpuSample>, WireError> {
    const NAME: &str = "GPUs";
    let lengths = [
        packed.gpu.len(),
        packed.busy.len(),
        packed.memory_busy.len(),
        packed.memory_used.len(),
        packed.memory_total.len(),
        packed.sm_clock.len(),
        packed.memory_clock.len(),
        packed.temperature.len(),
        packed.share.len(),
        packed.share_is_by_utilisation.len(),
    ];
    all_of(packed.at_delta.len(), &lengths, NAME)?;
    let rows = sums(&packed.at_delta).enumerate();
    rows.map(|(row, time)| {
        let basis = match at(&packed.share_is_by_utilisation, row, NAME)? {
            true => ShareBasis::Utilisation,
            false => ShareBasis::Alone,
        };
        Ok(GpuSample {
            at: Mono(time),
            gpu: at(&packed.gpu, row, NAME)?,
            used: GpuUse {
                busy: not_nan(at(&packed.busy, row, NAME)?),
                memory_busy: not_nan(at(&packed.memory_busy, row, NAME)?),
                memory_used: known(at(&packed.memory_used, row, NAME)?),
                memory_total: known(at(&packed.memory_total, row, NAME)?),
                sm_clock: known_u32(at(&packed.sm_clock, row, NAME)?, "clock")?,
                memory_clock: known_u32(at(&packed.memory_clock, row, NAME)?, "clock")?,
                temperature: known_u32(at(&packed.temperature, row, NAME)?, "temperature")?,
            },
            share: not_nan(at(&packed.share, row, NAME)?).map(|share| GpuShare { share, basis }),
        })
    })
    .collect()
}
