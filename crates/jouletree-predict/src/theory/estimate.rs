//! Energies of operators from their counts and a table of costs.

use std::fmt;
use std::str::FromStr;

use jouletree_model::Joules;
use serde::Serialize;

use super::{Costs, Picojoules};
use crate::operators::{Accesses, Operator, TensorUse};

/// The width of elements and of arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bits {
    /// 8 bits.
    Eight,
    /// 16 bits.
    Sixteen,
    /// 32 bits.
    #[default]
    ThirtyTwo,
}

/// A width without costs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are no costs for elements of {0} bits; choose 32, 16 or 8")]
pub struct UnknownBits(String);

impl Bits {
    /// How many bytes an element takes.
    pub fn bytes(self) -> u64 {
        match self {
            Bits::Eight => 1,
            Bits::Sixteen => 2,
            Bits::ThirtyTwo => 4,
        }
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.bytes() * 8)
    }
}

impl FromStr for Bits {
    type Err = UnknownBits;
    fn from_str(text: &str) -> Result<Bits, UnknownBits> {
        match text {
            "8" => Ok(Bits::Eight),
            "16" => Ok(Bits::Sixteen),
            "32" => Ok(Bits::ThirtyTwo),
            _ => Err(UnknownBits(text.to_owned())),
        }
    }
}

/// Memory traffic under one reading, and its energy.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Traffic {
    /// Elements read, by class of their tensor's size.
    pub reads_by_class: Vec<u64>,
    /// Elements written, by class of their tensor's size.
    pub writes_by_class: Vec<u64>,
    /// Bytes moved.
    pub bytes: u64,
    /// The energy of these accesses.
    #[serde(rename = "memory_j")]
    pub memory: Joules,
    /// The energy of these accesses and of the arithmetic.
    #[serde(rename = "energy_j")]
    pub energy: Joules,
}

/// Both readings of memory traffic; what a machine takes lies between them as far as theory goes.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Bracket {
    /// Every multiply-accumulate reads both its operands from their tensors.
    pub naive: Traffic,
    /// Every element is moved once.
    pub once: Traffic,
}

/// What theory says of one operator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorEstimate {
    /// The operator's name.
    pub name: String,
    /// Multiplications.
    pub mul: u64,
    /// Sums.
    pub sum: u64,
    /// Multiply-accumulates.
    pub macs: u64,
    /// Parameters.
    pub parameters: u64,
    /// The energy of multiplications and sums.
    #[serde(rename = "compute_j")]
    pub compute: Joules,
    /// The energy of memory.
    pub traffic: Bracket,
}

/// What theory says of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// Each operator, in the model's order.
    pub operators: Vec<OperatorEstimate>,
    /// All of them together, under the model's name.
    pub total: OperatorEstimate,
}

impl OperatorEstimate {
    /// The upper end of the bracket: arithmetic, and every operand from its tensor.
    pub fn naive(&self) -> Joules {
        self.traffic.naive.energy
    }

    /// The lower end of the bracket: arithmetic, and every element moved once.
    pub fn once(&self) -> Joules {
        self.traffic.once.energy
    }
}

/// What theory says of a model's operators at a width, by a table of costs.
pub fn estimate(name: &str, operators: &[Operator], bits: Bits, costs: &Costs) -> Estimate {
    let operators: Vec<OperatorEstimate> = operators.iter().map(|o| of_operator(o, bits, costs)).collect();
    let mut total = OperatorEstimate {
        name: name.to_owned(),
        mul: 0,
        sum: 0,
        macs: 0,
        parameters: 0,
        compute: Joules::ZERO,
        traffic: Bracket { naive: Traffic::new(costs), once: Traffic::new(costs) },
    };
    for operator in &operators {
        total.mul = total.mul.saturating_add(operator.mul);
        total.sum = total.sum.saturating_add(operator.sum);
        total.macs = total.macs.saturating_add(operator.macs);
        total.parameters = total.parameters.saturating_add(operator.parameters);
        total.compute += operator.compute;
        total.traffic.naive.add(&operator.traffic.naive);
        total.traffic.once.add(&operator.traffic.once);
    }
    Estimate { operators, total }
}

fn of_operator(operator: &Operator, bits: Bits, costs: &Costs) -> OperatorEstimate {
    let count = operator.count();
    let compute = energy(count.mul, costs.mul.at(bits)) + energy(count.sum, costs.add.at(bits));
    let with_arithmetic = |traffic: Traffic| Traffic { energy: compute + traffic.memory, ..traffic };
    OperatorEstimate {
        name: operator.name().to_owned(),
        mul: count.mul,
        sum: count.sum,
        macs: count.macs,
        parameters: operator.parameters(),
        compute,
        traffic: Bracket {
            naive: with_arithmetic(traffic(operator, bits, costs, |accesses| accesses.naive)),
            once: with_arithmetic(traffic(operator, bits, costs, |accesses| accesses.once)),
        },
    }
}

fn energy(count: u64, cost: Picojoules) -> Joules {
    Joules(count as f64 * cost.0 * 1e-12)
}

fn traffic(operator: &Operator, bits: Bits, costs: &Costs, reading: impl Fn(Accesses) -> u64) -> Traffic {
    let mut traffic = Traffic::new(costs);
    for tensor in &operator.count().tensors {
        // Indices keep their width: a table has as many rows whatever its elements are.
        let width = if tensor.usage == TensorUse::Index { Bits::ThirtyTwo } else { bits };
        let class = costs.class(tensor.elements.saturating_mul(width.bytes()));
        let (reads, writes) = (reading(tensor.reads), reading(tensor.writes));
        let cost = costs.access.get(class).map_or(Picojoules(0.0), |access| access.costs.at(width));
        if let (Some(all_reads), Some(all_writes)) =
            (traffic.reads_by_class.get_mut(class), traffic.writes_by_class.get_mut(class))
        {
            *all_reads += reads;
            *all_writes += writes;
        }
        traffic.bytes = traffic.bytes.saturating_add((reads + writes).saturating_mul(width.bytes()));
        traffic.memory += energy(reads + writes, cost);
    }
    traffic
}

impl Traffic {
    fn new(costs: &Costs) -> Traffic {
        let classes = costs.access.len();
        Traffic { reads_by_class: vec![0; classes], writes_by_class: vec![0; classes], ..Traffic::default() }
    }

    fn add(&mut self, other: &Traffic) {
        let pairs = self.reads_by_class.iter_mut().zip(&other.reads_by_class);
        for (sum, count) in pairs.chain(self.writes_by_class.iter_mut().zip(&other.writes_by_class)) {
            *sum = sum.saturating_add(*count);
        }
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.memory += other.memory;
        self.energy += other.energy;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::Shape;

    fn naive_per_row(rows: u64) -> f64 {
        let shape = Shape::Dense { rows, inputs: 4096, outputs: 4096, bias: true };
        let operators = [Operator::new("dense", shape).unwrap()];
        estimate("m", &operators, Bits::ThirtyTwo, &Costs::default()).total.naive().0 / rows as f64
    }

    #[test]
    fn energy_jumps_when_a_tensor_changes_its_class() {
        assert!((naive_per_row(63) - 0.01769).abs() < 1e-5);
        assert!((naive_per_row(64) - 0.03364).abs() < 1e-5);
    }

    #[test]
    fn a_dense_layer_by_hand() {
        let shape = Shape::Dense { rows: 1, inputs: 2, outputs: 3, bias: true };
        let operators = [Operator::new("dense", shape).unwrap()];
        let total = estimate("m", &operators, Bits::ThirtyTwo, &Costs::default()).total;
        let compute = 6.0 * 3.7 + 9.0 * 0.9;
        assert!((total.compute.0 - compute * 1e-12).abs() < 1e-24);
        assert!((total.naive().0 - (compute + 18.0 * 5.0) * 1e-12).abs() < 1e-24);
        assert!((total.once().0 - (compute + 14.0 * 5.0) * 1e-12).abs() < 1e-24);
        assert_eq!(total.traffic.once.bytes, 56);
    }

    #[test]
    fn widths_are_read_and_written() {
        assert_eq!("16".parse(), Ok(Bits::Sixteen));
        assert_eq!(Bits::Eight.to_string(), "8");
        assert!("64".parse::<Bits>().unwrap_err().to_string().contains("32, 16 or 8"));
    }
}
