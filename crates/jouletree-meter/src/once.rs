//! One sensor for each thing that is metered.

use std::collections::HashMap;

use jouletree_model::Device;

use crate::{Found, Unusable};

/// The same sensors, of which only the first usable one of each device and domain is left usable: what two interfaces
/// show of one counter is counted once. Better sources come first.
pub fn once(found: Vec<Found>) -> Vec<Found> {
    let mut used: HashMap<(Device, Option<String>), String> = HashMap::new();
    found
        .into_iter()
        .map(|Found { info, sensor }| {
            let sensor = sensor.and_then(|sensor| {
                let metered = (info.device.clone(), info.domain.clone());
                if let Some(source) = used.get(&metered) {
                    let reason = format!("the same is read from {source}");
                    return Err(Unusable { reason, remedy: None });
                }
                used.insert(metered, info.source.clone());
                Ok(sensor)
            });
            Found { info, sensor }
        })
        .collect()
}
