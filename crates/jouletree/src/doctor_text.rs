//! The diagnosis for people: a table of sensors, what keeps those from being used that are not, and a last sentence.

use jouletree_model::{Nanos, Watts};
use jouletree_session::diagnosis::{Diagnosis, SensorRow, short};
use jouletree_table::paragraph::{entry, paragraph};

use crate::columns::{Columns, Keep};
use crate::page::stdout_width;

/// Wide enough for most sentences, where no terminal says how wide it is.
const WIDTH: usize = 100;

/// Sensors that are kept from being used by one and the same thing.
struct Trouble<'d> {
    sensors: Vec<&'d SensorRow>,
    reason: &'d str,
    remedy: Option<&'d str>,
}

/// The whole story.
pub fn text(diagnosis: &Diagnosis) -> String {
    let width = stdout_width().unwrap_or(WIDTH);
    let troubles = troubles(&diagnosis.sensors);
    let mut text = String::from("Sensors\n");
    text.push_str(&table(&diagnosis.sensors, &troubles));
    for (number, trouble) in troubles.iter().enumerate() {
        text.push('\n');
        text.push_str(&trouble.text(number + 1, width));
    }
    if !diagnosis.absent.is_empty() {
        text.push_str("\nNot here\n");
    }
    for absent in &diagnosis.absent {
        item(&mut text, absent.source, &absent.reason, absent.remedy.as_deref(), width);
    }
    text.push_str("\nBeside sensors\n");
    if let Some(unsupported) = &diagnosis.unsupported {
        let said = format!("not supported yet; it would take {}", unsupported.needed);
        item(&mut text, unsupported.platform, &said, None, width);
    }
    beside(diagnosis, width, &mut text);
    text.push('\n');
    text.push_str(&paragraph(&diagnosis.summary, 0, width));
    text
}

fn beside(diagnosis: &Diagnosis, width: usize, text: &mut String) {
    let share = &diagnosis.process_share;
    let said = match (&share.source, share.step_s) {
        (Some(source), Some(step)) => format!("by {source}, to {}", seconds(step)),
        _ => "unknown".to_owned(),
    };
    item(text, "share of a process", &said, None, width);
    for refused in &share.refused {
        text.push_str(&paragraph(&format!("refused: {}", refused.reason), 2, width));
        text.push_str(&paragraph(refused.remedy.as_deref().unwrap_or_default(), 4, width));
    }
    let realtime = &diagnosis.realtime;
    let said = match &realtime.reason {
        None => "yes".to_owned(),
        Some(reason) => format!("no: {reason}"),
    };
    item(text, "real-time sampling", &said, realtime.remedy.as_deref(), width);
    if let Some(filter) = &diagnosis.energy_filter {
        item(text, "blurred counters", filter, None, width);
    }
    let daemon = &diagnosis.daemon;
    let said = match &daemon.reason {
        None => format!("it answers at {}", daemon.socket),
        Some(reason) => format!("{reason} ({})", daemon.socket),
    };
    item(text, "daemon", &said, daemon.remedy.as_deref(), width);
}

/// A name, what is said of it, and below it what would help.
fn item(text: &mut String, name: &str, said: &str, remedy: Option<&str>, width: usize) {
    text.push_str(&entry(&format!("{name}: "), said, 2, width));
    text.push_str(&paragraph(remedy.unwrap_or_default(), 2, width));
}

fn table(sensors: &[SensorRow], troubles: &[Trouble]) -> String {
    let header = ["device", "part", "usable", "kind", "every", "now", "source"];
    let mut table = Columns::new(&header).left(0).left(1).left(2).left(3).shorten(6, Keep::Start).optional(&[4]);
    for sensor in sensors {
        let number =
            troubles.iter().position(|trouble| trouble.sensors.iter().any(|own| std::ptr::eq(*own, sensor)));
        table.row(vec![
            short(&sensor.device),
            sensor.domain.clone().unwrap_or_default(),
            number.map_or("yes".to_owned(), |number| format!("no [{}]", number + 1)),
            sensor.kind.to_string(),
            seconds(sensor.period_s),
            sensor.power_w.map(|watts| Watts(watts).to_string()).unwrap_or_default(),
            sensor.source.clone(),
        ]);
    }
    table.text()
}

/// What has the same reason and the same remedy is shown once.
fn troubles(sensors: &[SensorRow]) -> Vec<Trouble<'_>> {
    let mut troubles: Vec<Trouble> = Vec::new();
    for sensor in sensors.iter().filter(|sensor| !sensor.usable) {
        let (reason, remedy) = (sensor.reason.as_deref().unwrap_or_default(), sensor.remedy.as_deref());
        match troubles.iter_mut().find(|trouble| trouble.reason == reason && trouble.remedy == remedy) {
            Some(trouble) => trouble.sensors.push(sensor),
            None => troubles.push(Trouble { sensors: vec![sensor], reason, remedy }),
        }
    }
    troubles
}

impl Trouble<'_> {
    fn text(&self, number: usize, width: usize) -> String {
        let name = |sensor: &&SensorRow| match &sensor.domain {
            Some(domain) => format!("{} {domain}", short(&sensor.device)),
            None => short(&sensor.device),
        };
        let names: Vec<String> = self.sensors.iter().map(name).collect();
        let said = format!("{}: {}", names.join(", "), self.reason);
        entry(&format!("[{number}] "), &said, 4, width) + &paragraph(self.remedy.unwrap_or_default(), 4, width)
    }
}

fn seconds(seconds: f64) -> String {
    Nanos((seconds * 1e9) as i64).to_string()
}
