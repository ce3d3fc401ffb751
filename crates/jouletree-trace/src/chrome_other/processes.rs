//! What the names of processes and threads say.

use jouletree_model::{Device, DeviceClass};
use rustc_hash::FxHashMap;

/// A thread: its process and itself, as the file writes them.
pub(super) type Thread = (Box<[u8]>, Box<[u8]>);

/// Processes and threads by what the file calls them, and the names it gives them.
#[derive(Debug, Default)]
pub(super) struct Processes {
    processes: FxHashMap<Box<[u8]>, Process>,
    threads: FxHashMap<Thread, String>,
}

#[derive(Debug, Default)]
struct Process {
    name: String,
    labels: String,
}

impl Processes {
    pub(super) fn name_process(&mut self, pid: &[u8], name: String) {
        self.processes.entry(pid.into()).or_default().name = name;
    }

    pub(super) fn label_process(&mut self, pid: &[u8], labels: String) {
        self.processes.entry(pid.into()).or_default().labels = labels;
    }

    pub(super) fn name_thread(&mut self, pid: &[u8], tid: &[u8], name: String) {
        self.threads.insert((pid.into(), tid.into()), name);
    }

    /// The process in words: its name, else its number.
    pub(super) fn process(&self, pid: &[u8]) -> String {
        match self.processes.get(pid) {
            Some(process) if !process.name.is_empty() => process.name.clone(),
            _ => format!("process {}", String::from_utf8_lossy(pid)),
        }
    }

    /// The thread in words, its process included.
    pub(super) fn thread(&self, pid: &[u8], tid: &[u8]) -> String {
        let thread = match self.threads.get(&(pid.into(), tid.into())) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("thread {}", String::from_utf8_lossy(tid)),
        };
        format!("{} {thread}", self.process(pid))
    }

    /// The device of a process, if its name, its labels or the file's name for it has one.
    pub(super) fn device(&self, pid: &[u8]) -> Option<Device> {
        let process = self.processes.get(pid);
        let pid = String::from_utf8_lossy(pid);
        let words = process.into_iter().flat_map(|process| [process.name.as_str(), process.labels.as_str()]);
        words.chain([pid.as_ref()]).find_map(device_in)
    }
}

/// The accelerator that a text names: `/device:GPU:0`, `GPU 1`, `tpu:2`.
fn device_in(text: &str) -> Option<Device> {
    let text = text.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = ["gpu", "tpu"].iter().filter_map(|word| text[from..].find(word)).min() {
        let at = from + at;
        from = at + "gpu".len();
        if text[..at].ends_with(|letter: char| letter.is_ascii_alphanumeric()) {
            continue;
        }
        let rest = &text[from..];
        let digits = rest.strip_prefix([':', ' ', '_', '-']).unwrap_or(rest);
        let length = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        if let Ok(index) = digits[..length].parse() {
            return Some(Device::new(DeviceClass::Gpu, index));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_by_names_of_processes() {
        for (name, device) in [
            ("/device:GPU:0", Some("host/gpu:0")),
            ("/job:localhost/device:GPU:12/stream:all Compute", Some("host/gpu:12")),
            ("GPU 1", Some("host/gpu:1")),
            ("gpu:3", Some("host/gpu:3")),
            ("/device:TPU:2", Some("host/gpu:2")),
            ("the gpu of GPU 5", Some("host/gpu:5")),
            ("notgpu 7", None),
            ("GPU", None),
            ("gpu 99999999999", None),
            ("/host:CPU", None),
        ] {
            assert_eq!(device_in(name).map(|device| device.to_string()).as_deref(), device, "{name}");
        }
    }

    #[test]
    fn a_process_without_a_name_is_its_number() {
        let mut processes = Processes::default();
        assert_eq!(
            (processes.process(b"7"), processes.thread(b"7", b"8")),
            ("process 7".into(), "process 7 thread 8".into())
        );
        processes.name_process(b"7", "/host:CPU".into());
        processes.label_process(b"7", "GPU 2".into());
        processes.name_thread(b"7", b"8", "python".into());
        assert_eq!(processes.thread(b"7", b"8"), "/host:CPU python");
        assert_eq!(processes.device(b"7"), Some(Device::new(DeviceClass::Gpu, 2)));
        assert_eq!(processes.device(b"GPU 4"), Some(Device::new(DeviceClass::Gpu, 4)));
    }
}
