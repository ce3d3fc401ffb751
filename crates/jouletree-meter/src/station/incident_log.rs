//! Logs what happened to sensors and clocks: once for the station, however many sessions receive it, and limited, since a
//! sensor may fail and recover many times a second.

use std::time::{Duration, Instant};

use jouletree_host::Throttle;
use jouletree_model::sampling::{Incident, SensorInfo, What};
use tracing::{debug, error, info, warn};

/// How many incidents are logged in a period.
const MOST: u32 = 60;
const PERIOD: Duration = Duration::from_secs(60);

/// The log of a station's incidents.
#[derive(Debug)]
pub(super) struct IncidentLog(Throttle);

impl Default for IncidentLog {
    fn default() -> IncidentLog {
        IncidentLog(Throttle::new(MOST, PERIOD))
    }
}

impl IncidentLog {
    /// Logs incidents of these sensors.
    pub fn log(&mut self, incidents: &[Incident], sensors: &[SensorInfo]) {
        for incident in incidents {
            if let Some(suppressed) = self.0.pass(Instant::now()) {
                log(incident, sensors, suppressed);
            }
        }
    }
}

fn log(incident: &Incident, sensors: &[SensorInfo], suppressed: u64) {
    let info = incident.sensor.and_then(|sensor| sensors.get(usize::from(sensor)));
    let device = info.map(|info| tracing::field::display(&info.device));
    let domain = info.and_then(|info| info.domain.as_ref()).map(tracing::field::display);
    let source = info.map(|info| tracing::field::display(&info.source));
    match &incident.what {
        What::Lost(reason) => warn!(device, domain, source, suppressed, "sensor failed: {reason}"),
        What::Recovered => info!(device, domain, source, suppressed, "sensor recovered"),
        What::Still(time) => warn!(device, domain, source, suppressed, "sensor has not changed for {time}"),
        What::Moves => info!(device, domain, source, suppressed, "sensor changes again"),
        What::Late { missed, worst } => debug!(missed, %worst, suppressed, "readings missed their deadlines"),
        What::ClockStep(step) => info!(%step, suppressed, "the time of day was set"),
        What::Suspend(time) => info!(%time, suppressed, "the machine was suspended"),
        What::Ended => error!(suppressed, "sampling ended because of a fault in a sensor's code"),
    }
}
