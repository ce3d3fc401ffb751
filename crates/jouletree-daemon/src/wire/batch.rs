//! Batches on the wire: columns of differences, some eight bytes for a sample.

use std::collections::HashMap;

use jouletree_model::sampling::{Batch, Flags, Mono, Sample};
use prost::Message;

use super::columns::{all_of, at};
use super::{WireError, anchor, anchor_from, incident, incident_from, log, v1};

/// A batch as it is sent. Its number and what was lost before it are sent beside it.
pub fn pack(batch: &Batch) -> Vec<u8> {
    let message = v1::Batch {
        samples: (!batch.samples.is_empty()).then(|| samples(&batch.samples)),
        shares: (!batch.shares.is_empty()).then(|| log::shares(&batch.shares)),
        resources: (!batch.resources.is_empty()).then(|| log::resources(&batch.resources)),
        gpus: (!batch.gpus.is_empty()).then(|| log::gpus(&batch.gpus)),
        anchors: batch.anchors.iter().map(anchor).collect(),
        incidents: batch.incidents.iter().map(incident).collect(),
        processes: batch.processes.clone(),
    };
    message.encode_to_vec()
}

/// The batch that was packed. Its number and what was lost before it are those that were sent beside it.
pub fn unpack(number: u64, lost: u64, bytes: &[u8]) -> Result<Batch, WireError> {
    let message = v1::Batch::decode(bytes)?;
    Ok(Batch {
        number,
        samples: message.samples.map(|samples| samples_from(&samples)).transpose()?.unwrap_or_default(),
        shares: message.shares.map(|shares| log::shares_from(&shares)).transpose()?.unwrap_or_default(),
        resources: message.resources.map(|log| log::resources_from(&log)).transpose()?.unwrap_or_default(),
        gpus: message.gpus.map(|gpus| log::gpus_from(&gpus)).transpose()?.unwrap_or_default(),
        anchors: message.anchors.iter().map(anchor_from).collect(),
        incidents: message.incidents.into_iter().map(incident_from).collect::<Result<_, _>>()?,
        processes: message.processes,
        lost,
    })
}

fn samples(samples: &[Sample]) -> v1::Samples {
    let mut before: HashMap<u16, (i64, u64)> = HashMap::new();
    let mut packed = v1::Samples::default();
    let has_flags = samples.iter().any(|sample| sample.flags != Flags::default());
    for sample in samples {
        let (time, count) = before.insert(sample.sensor, (sample.at.0, sample.count)).unwrap_or_default();
        packed.sensor.push(u32::from(sample.sensor));
        packed.at_delta.push(sample.at.0.wrapping_sub(time));
        packed.microjoules_delta.push(sample.count.wrapping_sub(count).cast_signed());
        if has_flags {
            packed.flags.push(u32::from(sample.flags.0));
        }
    }
    packed
}

fn samples_from(packed: &v1::Samples) -> Result<Vec<Sample>, WireError> {
    const NAME: &str = "samples";
    let rows = packed.sensor.len();
    all_of(rows, &[packed.at_delta.len(), packed.microjoules_delta.len()], NAME)?;
    let has_flags = !packed.flags.is_empty();
    if has_flags {
        all_of(rows, &[packed.flags.len()], NAME)?;
    }
    let mut before: HashMap<u16, (i64, u64)> = HashMap::new();
    (0..rows)
        .map(|row| {
            let sensor = u16::try_from(at(&packed.sensor, row, NAME)?)
                .map_err(|_| WireError::Value("number of a sensor"))?;
            let flags = if has_flags { at(&packed.flags, row, NAME)? } else { 0 };
            let (time, count) = before.entry(sensor).or_default();
            *time = time.wrapping_add(at(&packed.at_delta, row, NAME)?);
            *count = count.wrapping_add(at(&packed.microjoules_delta, row, NAME)?.cast_unsigned());
            let flags = Flags(u16::try_from(flags).map_err(|_| WireError::Value("flags"))?);
            Ok(Sample { sensor, flags, at: Mono(*time), count: *count })
        })
        .collect()
}
