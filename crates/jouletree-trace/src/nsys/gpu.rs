//! What GPUs did: kernels, copies, sets and whole graphs, on the streams of processes.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::tables::{GRAPHS, PROCESS, Reader, index, pid};
use crate::kineto::contents::{GpuEvent, GpuSort};

/// The kinds of copies by their numbers in CUPTI.
const COPIES: [&str; 11] = ["", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"];

impl Reader<'_> {
    pub(super) fn read_gpu(&mut self, table: &str, category: &str, sort: GpuSort) {
        const COLUMNS: [&str; 12] = [
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "globalPid",
            "correlationId",
            "demangledName",
            "shortName",
            "mangledName",
            "copyKind",
            "graphId",
        ];
        let category = self.recording.names.bytes(category.as_bytes());
        let (mut bad, mut count) = (0_u64, 0_u64);
        let mut moved = BTreeSet::new();
        let database = self.database;
        let damage = database.each(table, &COLUMNS, |row| {
            count += 1;
            let Some((start, end)) = self.extent(&row) else {
                bad += 1;
                return;
            };
            let global = row.integer(5).unwrap_or(0) & PROCESS;
            let process = self.process(global);
            let cuda = row.integer(2).unwrap_or(0);
            let device = self.gpus.get(&(pid(global), cuda)).copied().or(index(&row, 2)).unwrap_or(0);
            if i64::from(device) != cuda {
                moved.insert((pid(global), cuda, device));
            }
            let name = match sort {
                GpuSort::Memcpy => self.named(&copy_name(row.integer(10))),
                GpuSort::Memset => self.named("Memset"),
                GpuSort::Kernel if table == GRAPHS => self.named("CUDA graph"),
                GpuSort::Kernel => {
                    let known = (7..10).find_map(|column| self.strings.get(&row.integer(column)?).copied());
                    known.unwrap_or_else(|| self.named("(kernel without a name)"))
                }
            };
            let stream = (process, row.integer(3).unwrap_or(0), row.integer(4).unwrap_or(0));
            let stream = self.streams.insert_full(stream).0 as u32;
            let correlation = row.integer(6).and_then(|number| self.correlation(process, number));
            self.recording.counter.note((Some(device), category), start, end, true);
            self.recording.gpu.push(GpuEvent { start, end, name, device, stream, correlation, sort });
        });
        self.recording.warnings.extend(damage);
        self.recording.events += count;
        self.warn_of_bad(table, bad);
        for (pid, cuda, gpu) in moved {
            self.warn(format!(
                "CUDA device {cuda} of process {pid} is GPU {gpu} of the machine and is accounted as gpu:{gpu}"
            ));
        }
        if table == GRAPHS && count > 0 {
            self.warn(format!(
                "{count} runs of CUDA graphs are known as a whole only; record with --cuda-graph-trace=node to see \
                 their kernels"
            ));
        }
    }

    /// Streams are called by their numbers, with context and process where that is not enough.
    pub(super) fn name_streams(&mut self) {
        let gpu = &self.recording.gpu;
        let mut contexts: FxHashMap<u32, BTreeSet<(u32, i64)>> = FxHashMap::default();
        let streams: BTreeSet<(u32, u32)> = gpu.iter().map(|event| (event.device, event.stream)).collect();
        for (device, stream) in &streams {
            if let Some((process, context, _)) = self.streams.get_index(*stream as usize) {
                contexts.entry(*device).or_default().insert((*process, *context));
            }
        }
        let mut labels: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        for (device, number) in streams {
            let Some((process, context, stream)) = self.streams.get_index(number as usize).copied() else {
                continue;
            };
            let beside = contexts.get(&device);
            let several_contexts = beside.is_some_and(|beside| beside.len() > 1);
            let several_processes = beside.is_some_and(|beside| beside.iter().any(|(other, _)| *other != process));
            let mut label = stream.to_string();
            if several_contexts {
                label.push_str(&format!(" context {context}"));
            }
            if several_processes {
                let global = self.processes.get_index(process as usize).copied().unwrap_or(0);
                label.push_str(&format!(" process {}", pid(global)));
            }
            labels.insert((device, number), self.recording.names.bytes(label.as_bytes()));
        }
        for event in &mut self.recording.gpu {
            event.stream = labels.get(&(event.device, event.stream)).copied().unwrap_or(event.stream);
        }
    }
}

fn copy_name(kind: Option<i64>) -> String {
    let known = kind.and_then(|kind| COPIES.get(usize::try_from(kind).ok()?).filter(|name| !name.is_empty()));
    match (known, kind) {
        (Some(name), _) => format!("Memcpy {name}"),
        (None, Some(kind)) => format!("Memcpy kind {kind}"),
        (None, None) => "Memcpy".to_owned(),
    }
}
