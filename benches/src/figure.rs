//! Figures: what was measured, beside what was wanted and what others reach.

use comfy_table::{ContentArrangement, Table, presets};

/// One measured figure.
#[derive(Debug)]
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// The result, in `unit`.
    pub value: f64,
    /// How many decimals of it are printed.
    pub decimals: usize,
    /// The unit, as it is printed.
    pub unit: &'static str,
    /// What was wanted, if anything was.
    pub target: Option<Target>,
    /// What else is worth knowing about the run.
    pub detail: String,
    /// What others reach at the same task.
    pub peers: Vec<Peer>,
}

/// What is wanted of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// This much or more.
    AtLeast(f64),
    /// This much or less.
    AtMost(f64),
}

/// What another program reaches at the same task.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// What it reaches, in the unit of the figure.
    pub value: String,
    /// Whether it was measured in this run.
    pub measured: bool,
}

impl Figure {
    fn verdict(&self) -> &'static str {
        match self.target {
            None => "",
            Some(Target::AtLeast(target)) if self.value < target => "below",
            Some(Target::AtMost(target)) if self.value > target => "above",
            Some(_) => "PASS",
        }
    }

    fn result(&self) -> String {
        format!("{:.*} {}", self.decimals, self.value, self.unit)
    }

    fn cells(&self) -> [String; 6] {
        let target = match self.target {
            None => String::new(),
            Some(Target::AtLeast(target)) => format!("≥ {target}"),
            Some(Target::AtMost(target)) => format!("≤ {target}"),
        };
        let peers: Vec<String> = self.peers.iter().map(Peer::to_string).collect();
        [
            self.what.clone(),
            self.result(),
            target,
            self.verdict().to_owned(),
            self.detail.clone(),
            peers.join("; "),
        ]
    }

    /// The figure in one line, for those who wait.
    pub fn line(&self) -> String {
        format!("{}: {} {} ({})", self.what, self.result(), self.verdict(), self.detail)
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.measured { "" } else { "†" };
        write!(f, "{} {}{mark}", self.name, self.value)
    }
}

/// All figures as a table, for a terminal or as Markdown, with what one must know to read it.
pub fn table(figures: &[Figure], load: Option<&str>, markdown: bool) -> String {
    let mut table = Table::new();
    if markdown {
        table.load_style(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    } else {
        table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.set_header(["figure", "jouletree", "target", "verdict", "detail", "peers, same unit"]);
    table.add_rows(figures.iter().map(Figure::cells));
    let mut text = format!("{table}\n");
    if let Some(load) = load {
        text += &format!(
            "\nLoad of the machine before the run: {load}. What others do makes walls and scaling worse.\n"
        );
    }
    if figures.iter().flat_map(|figure| &figure.peers).any(|peer| !peer.measured) {
        text += "\n† not measured in this run: as measured earlier on a comparable machine.\n";
    }
    text
}
