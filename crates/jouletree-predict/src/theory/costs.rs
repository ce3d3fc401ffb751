//! The table of costs: picojoules of a sum, a multiplication, and an access by the size of the tensor.

use serde::{Deserialize, Serialize};

use super::Bits;

/// An amount of energy at the scale of single operations.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Picojoules(pub f64);

/// One cost for each width of an element.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationCosts {
    /// At 8 bits.
    #[serde(rename = "8")]
    pub bits8: Picojoules,
    /// At 16 bits.
    #[serde(rename = "16")]
    pub bits16: Picojoules,
    /// At 32 bits.
    #[serde(rename = "32")]
    pub bits32: Picojoules,
}

/// The cost of reading or writing one element of a tensor in a class of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AccessCost {
    /// Tensors of fewer bytes belong to this class; the last class has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_bytes: Option<u64>,
    /// The cost by width.
    #[serde(flatten)]
    pub costs: OperationCosts,
}

/// All costs, as `costs.toml` holds them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Of a sum.
    pub add: OperationCosts,
    /// Of a multiplication.
    pub mul: OperationCosts,
    /// Of an access, from the smallest tensors to the largest.
    pub access: Vec<AccessCost>,
}

/// A table that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CostError {
    /// Not TOML, or not such a table.
    #[error("not a table of costs; see docs/theory.md for one: {0}")]
    Toml(String),
    /// A cost that is none.
    #[error("the cost of {what} is {value} pJ; costs must be finite and not negative")]
    NotACost {
        /// Which cost.
        what: String,
        /// Its value.
        value: f64,
    },
    /// Classes out of order.
    #[error(
        "the classes of `access` must have rising `below_bytes`, and only the last, which is needed, has none"
    )]
    Classes,
}

impl OperationCosts {
    const fn new(bits8: f64, bits16: f64, bits32: f64) -> OperationCosts {
        OperationCosts { bits8: Picojoules(bits8), bits16: Picojoules(bits16), bits32: Picojoules(bits32) }
    }

    /// The cost at a width.
    pub fn at(&self, bits: Bits) -> Picojoules {
        match bits {
            Bits::Eight => self.bits8,
            Bits::Sixteen => self.bits16,
            Bits::ThirtyTwo => self.bits32,
        }
    }
}

impl Default for Costs {
    /// Horowitz's costs at 45 nm.
    fn default() -> Costs {
        let class = |below_bytes, costs| AccessCost { below_bytes, costs };
        Costs {
            add: OperationCosts::new(0.2, 0.4, 0.9),
            mul: OperationCosts::new(0.6, 1.1, 3.7),
            access: vec![
                class(Some(8 * 1024), OperationCosts::new(1.25, 2.5, 5.0)),
                class(Some(32 * 1024), OperationCosts::new(2.5, 5.0, 10.0)),
                class(Some(1024 * 1024), OperationCosts::new(12.5, 25.0, 50.0)),
                class(None, OperationCosts::new(250.0, 500.0, 1000.0)),
            ],
        }
    }
}

impl Costs {
    /// Reads a table in the layout of `costs.toml`.
    pub fn from_toml(text: &str) -> Result<Costs, CostError> {
        let invalid = |error: toml::de::Error| CostError::Toml(error.to_string().trim_end().to_owned());
        let costs: Costs = toml::from_str(text).map_err(invalid)?;
        costs.check()?;
        Ok(costs)
    }

    fn check(&self) -> Result<(), CostError> {
        let named = [("add".to_owned(), &self.add), ("mul".to_owned(), &self.mul)];
        let accesses =
            self.access.iter().enumerate().map(|(class, a)| (format!("access class {class}"), &a.costs));
        for (what, costs) in named.into_iter().chain(accesses) {
            for Picojoules(value) in [costs.bits8, costs.bits16, costs.bits32] {
                if !(value.is_finite() && value >= 0.0) {
                    return Err(CostError::NotACost { what, value });
                }
            }
        }
        let (last, limited) = self.access.split_last().ok_or(CostError::Classes)?;
        let limits: Option<Vec<u64>> = limited.iter().map(|class| class.below_bytes).collect();
        let is_rising = limits.is_some_and(|limits| limits.is_sorted_by(|a, b| a < b));
        if last.below_bytes.is_some() || !is_rising { Err(CostError::Classes) } else { Ok(()) }
    }

    /// The class of a tensor of so many bytes: the first whose limit it stays below.
    pub fn class(&self, bytes: u64) -> usize {
        let fitting = self.access.iter().position(|class| class.below_bytes.is_none_or(|limit| bytes < limit));
        fitting.unwrap_or(self.access.len().saturating_sub(1))
    }

    /// All costs times one factor: another machine, or another technology.
    pub fn scaled(&self, factor: f64) -> Costs {
        let scale = |costs: OperationCosts| {
            OperationCosts::new(costs.bits8.0 * factor, costs.bits16.0 * factor, costs.bits32.0 * factor)
        };
        let access = self.access.iter().map(|a| AccessCost { costs: scale(a.costs), ..*a }).collect();
        Costs { add: scale(self.add), mul: scale(self.mul), access }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_strict() {
        let costs = Costs::default();
        let classes = [8191, 8192, 32767, 32768, 1048575, 1048576].map(|bytes| costs.class(bytes));
        assert_eq!(classes, [0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_table_survives_its_file() {
        let text = toml::to_string(&Costs::default()).unwrap();
        assert_eq!(Costs::from_toml(&text).unwrap(), Costs::default());
    }

    #[test]
    fn wrong_tables_are_refused() {
        let text = toml::to_string(&Costs::default()).unwrap();
        let error = |text: &str| Costs::from_toml(text).unwrap_err().to_string();
        assert!(error("").contains("add"));
        assert!(error(&text.replace("0.9", "-0.9")).contains("-0.9 pJ"));
        assert!(error(&text.replace("0.9", "nan")).contains("finite"));
        assert!(error(&text.replace("32768", "8192")).contains("rising"));
    }
}
