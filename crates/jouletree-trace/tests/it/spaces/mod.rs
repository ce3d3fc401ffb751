//! XPlane files for tests: planes are written with their names, and numbers are given to those.

use test_support::proto::Message;

/// The value of a statistic.
#[derive(Debug, Clone)]
pub enum Stat {
    Integer(i64),
    Unsigned(u64),
    Text(&'static str),
    /// Text among the names of statistics.
    Reference(&'static str),
    Bytes(Vec<u8>),
}

/// Named statistics.
type Stats = Vec<(&'static str, Stat)>;

/// An event: its name, what the viewer shows for it, start and duration in picoseconds, statistics.
#[derive(Debug, Clone)]
pub struct Event {
    pub name: String,
    pub display: String,
    pub start: i64,
    pub duration: i64,
    pub stats: Stats,
}

/// The run of a TensorFlow operation, `name:Type`, in nanoseconds.
pub fn op(name: &str, op_type: &str, start: i64, duration: i64) -> Event {
    Event { display: op_type.to_owned(), ..other(&format!("{name}:{op_type}"), start, duration) }
}

/// Any other event, in nanoseconds.
pub fn other(name: &str, start: i64, duration: i64) -> Event {
    Event {
        name: name.to_owned(),
        display: String::new(),
        start: start * 1000,
        duration: duration * 1000,
        stats: Vec::new(),
    }
}

impl Event {
    /// The same with a statistic more.
    pub fn with(mut self, name: &'static str, value: Stat) -> Event {
        self.stats.push((name, value));
        self
    }
}

/// A plane that is being written.
#[derive(Debug, Clone, Default)]
pub struct Plane {
    name: &'static str,
    lines: Vec<Message>,
    events: Vec<(String, String, Stats)>,
    stats: Vec<String>,
    own: Stats,
    first_id: i64,
}

impl Plane {
    pub fn new(name: &'static str) -> Plane {
        Plane { name, first_id: 1, ..Plane::default() }
    }

    /// The same with another number for the first name.
    pub fn numbered_from(self, first_id: i64) -> Plane {
        Plane { first_id, ..self }
    }

    /// Adds a line whose time counts from `start` nanoseconds.
    pub fn line(mut self, id: i64, name: &str, start: i64, events: &[Event]) -> Plane {
        let mut line = Message::new().integer(1, id).text(2, name).integer(3, start);
        for event in events {
            let name = self.event_id(event);
            let mut message = Message::new().integer(1, name).integer(2, event.start);
            if event.duration != 0 {
                message = message.integer(3, event.duration);
            }
            for (name, value) in &event.stats {
                message = message.message(4, self.stat(name, value));
            }
            line = line.message(4, message);
        }
        self.lines.push(line.text(11, name));
        self
    }

    /// Adds a line that was written by hand.
    pub fn raw_line(mut self, line: Message) -> Plane {
        self.lines.push(line);
        self
    }

    /// Adds a name without an event, with statistics of its own.
    pub fn entry(mut self, name: &str, stats: &[(&'static str, Stat)]) -> Plane {
        self.events.push((name.to_owned(), String::new(), stats.to_vec()));
        self
    }

    /// Adds a name without an event, with what the viewer shows for it.
    pub fn shown(mut self, name: &str, display: &str) -> Plane {
        self.events.push((name.to_owned(), display.to_owned(), Vec::new()));
        self
    }

    /// Adds a statistic of the plane.
    pub fn own(mut self, name: &'static str, value: Stat) -> Plane {
        self.own.push((name, value));
        self
    }

    fn event_id(&mut self, event: &Event) -> i64 {
        let known =
            self.events.iter().position(|(name, display, _)| *name == event.name && *display == event.display);
        let index = known.unwrap_or_else(|| {
            self.events.push((event.name.clone(), event.display.clone(), Vec::new()));
            self.events.len() - 1
        });
        self.first_id + index as i64
    }

    fn stat_id(&mut self, name: &str) -> i64 {
        let index = self.stats.iter().position(|known| known == name).unwrap_or_else(|| {
            self.stats.push(name.to_owned());
            self.stats.len() - 1
        });
        self.first_id + index as i64
    }

    fn stat(&mut self, name: &str, value: &Stat) -> Message {
        let message = Message::new().integer(1, self.stat_id(name));
        match value {
            Stat::Integer(value) => message.integer(4, *value),
            Stat::Unsigned(value) => message.integer(3, *value as i64),
            Stat::Text(text) => message.text(5, text),
            Stat::Reference(text) => message.integer(7, self.stat_id(text)),
            Stat::Bytes(bytes) => message.text(6, bytes),
        }
    }

    pub fn message(mut self) -> Message {
        let mut plane = Message::new().text(2, self.name).messages(3, self.lines.clone());
        for (index, (name, display, stats)) in self.events.clone().into_iter().enumerate() {
            let id = self.first_id + index as i64;
            let stats: Vec<Message> = stats.iter().map(|(name, value)| self.stat(name, value)).collect();
            let name = Message::new().integer(1, id).text(2, name).text(4, display).messages(5, stats);
            plane = plane.message(4, Message::new().integer(1, id).message(2, name));
        }
        let own: Vec<Message> = self.own.clone().iter().map(|(name, value)| self.stat(name, value)).collect();
        for (index, name) in self.stats.iter().enumerate() {
            let id = self.first_id + index as i64;
            let name = Message::new().integer(1, id).text(2, name);
            plane = plane.message(5, Message::new().integer(1, id).message(2, name));
        }
        plane.messages(6, own)
    }
}

/// A file of these planes.
pub fn space(planes: impl IntoIterator<Item = Plane>) -> Vec<u8> {
    let planes = planes.into_iter().map(Plane::message);
    Message::new().messages(1, planes).text(4, "node7").text(4, "node8").0
}

/// Two training steps of a small Keras model.
pub fn keras() -> Vec<u8> {
    let step = |at: i64| {
        vec![
            other("ExecutorState::Process", at, 90).with("id", Stat::Integer(5)),
            op("net/dense/MatMul", "MatMul", at + 1, 10),
            op("net/dense/BiasAdd/ReadVariableOp", "ReadVariableOp", at + 11, 0),
            op("net/dense/BiasAdd", "BiasAdd", at + 12, 3),
            op("gradient_tape/net/dense/MatMul/MatMul_1", "MatMul", at + 20, 20),
            op("AddN", "AddN", at + 40, 5),
            op("Adam/truediv_27", "RealDiv", at + 50, 7),
            op("Adam/AssignSubVariableOp", "AssignSubVariableOp", at + 60, 4),
            other("ThreadpoolListener::Record", at + 70, 0),
        ]
    };
    let train = |at, number| other("train", at, 100).with("step_num", Stat::Integer(number));
    let data = [
        other("Iterator::Root::Prefetch", 5, 60),
        other("Iterator::Root::Prefetch::Map", 10, 20),
        op("GatherV2", "GatherV2", 12, 5),
    ];
    let host = Plane::new("/host:CPU")
        .line(11, "python", 7000, &[train(0, 3), train(200, 4)])
        .line(12, "tf_Compute/12", 7000, &[step(0), step(200)].concat())
        .line(13, "tf_data_iterator_resource/13", 7000, &data);
    let task = Plane::new("Task Environment")
        .own("profile_start_time", Stat::Unsigned(1_794_771_247_513_534_451))
        .own("profile_stop_time", Stat::Unsigned(1_794_771_248_513_534_451));
    space([host, task])
}

/// A run of a compiled program.
pub fn jax() -> Vec<u8> {
    let hlo = |name: &str, at, duration, run| {
        other(name, at, duration)
            .with("hlo_op", if name == "dot.1" { Stat::Reference("dot.1") } else { Stat::Text("add_fusion") })
            .with("hlo_module", Stat::Reference("jit_step"))
            .with("program_id", Stat::Integer(42))
            .with("run_id", Stat::Integer(run))
    };
    let events = [
        other("ThunkExecutor::Execute", 0, 300),
        hlo("dot.1", 10, 40, 900),
        other("end: dot.1", 50, 1),
        hlo("add_fusion", 60, 10, 900),
        hlo("dot.1", 110, 40, 901),
    ];
    let mark = other("MARK", 2, 1).with("wall", Stat::Integer(1_794_771_247_513_600_000));
    let metadata = Plane::new("/host:metadata")
        .entry("jit_step(42)", &[("Hlo Proto", Stat::Bytes(vec![0x0a, 0x00])), ("program_id", Stat::Integer(42))]);
    let host = Plane::new("/host:CPU").line(1, "python", 5, &[mark]).line(-2, "tf_XLAEigen/-2", 5, &events);
    space([metadata, host])
}

/// A GPU with two streams and what the profiler derives from them.
pub fn gpu() -> Vec<u8> {
    let kernel = |name: &str, at, duration, tf_op| other(name, at, duration).with("tf_op", Stat::Reference(tf_op));
    let compute = [
        kernel("volta_sgemm", 10, 30, "net/dense/MatMul:MatMul"),
        kernel("volta_sgemm", 50, 30, "gradient_tape/net/dense/MatMul/MatMul_1:MatMul"),
        other("nameless_kernel", 90, 5),
    ];
    let copies = [other("MemcpyD2H", 15, 10).with("correlation_id", Stat::Integer(7))];
    let steps = [other("5", 0, 100)];
    let device = Plane::new("/device:GPU:1")
        .line(13, "Stream #13(Compute)", 100, &compute)
        .line(20, "Stream #20(MemcpyD2H)", 100, &copies)
        .line(1, "Steps", 100, &steps)
        .line(2, "TensorFlow Ops", 100, &[op("net/dense/MatMul", "MatMul", 10, 30)]);
    let tpu = Plane::new("/device:TPU:0").line(1, "XLA Ops", 100, &[other("fusion.3", 10, 30)]).line(
        2,
        "XLA Modules",
        100,
        &[other("jit_step", 0, 90)],
    );
    space([device, tpu])
}
