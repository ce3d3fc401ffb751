//! Accuracy against energy: which models are worth having, and which of them is best under a budget or for a target.
//!
//! A model is on the front if no other is at least as accurate for at most as much energy, and better in one of the two.
//! Where energies have intervals, a model *may* be on the front if it is when it takes its least and all others take
//! their most.

mod money;
mod read;

use jouletree_model::{Joules, Kind};
use serde::Serialize;

pub use money::{MILLION, Tariff};
pub use read::{TradeoffError, read_models};

/// A model with what it is worth and what it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// How good it is, in whatever unit; more is better.
    pub accuracy: f64,
    /// What one use of it takes.
    pub energy: Joules,
    /// The least and the most it may take, where that is known.
    pub ends: Option<(Joules, Joules)>,
    /// How its energy is known; none if unknown.
    pub kind: Option<Kind>,
}

/// How a model compares with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// No other is better.
    Front,
    /// Another is better, but not for certain.
    Perhaps,
    /// Another is better for certain.
    Behind,
}

impl Candidate {
    fn least(&self) -> f64 {
        self.ends.map_or(self.energy.0, |(low, _)| low.0)
    }

    fn most(&self) -> f64 {
        self.ends.map_or(self.energy.0, |(_, high)| high.0)
    }
}

/// How each model compares with the others, in the order given.
pub fn standings(models: &[Candidate]) -> Vec<Standing> {
    let beaten = |own: &Candidate, energy: f64, of: fn(&Candidate) -> f64| {
        models.iter().any(|other| {
            let is_as_good = other.accuracy >= own.accuracy && of(other) <= energy;
            is_as_good && (other.accuracy > own.accuracy || of(other) < energy)
        })
    };
    let standing = |own: &Candidate| match (
        beaten(own, own.energy.0, |other| other.energy.0),
        beaten(own, own.least(), Candidate::most),
    ) {
        (false, _) => Standing::Front,
        (true, false) => Standing::Perhaps,
        (true, true) => Standing::Behind,
    };
    models.iter().map(standing).collect()
}

/// The front, from the least energy to the most.
pub fn front(models: &[Candidate]) -> Vec<&Candidate> {
    let standings = standings(models);
    let mut front: Vec<&Candidate> =
        models.iter().zip(standings).filter(|(_, s)| *s == Standing::Front).map(|(model, _)| model).collect();
    front.sort_by(|a, b| a.energy.0.total_cmp(&b.energy.0).then_with(|| a.name.cmp(&b.name)));
    front
}

/// The most accurate model that takes no more than the budget; of equals the one that takes less.
pub fn best_under(models: &[Candidate], budget: Joules) -> Option<&Candidate> {
    let affordable = models.iter().filter(|model| model.energy <= budget);
    affordable.max_by(|a, b| a.accuracy.total_cmp(&b.accuracy).then(b.energy.0.total_cmp(&a.energy.0)))
}

/// The model of least energy that is at least so accurate; of equals the better one.
pub fn cheapest_reaching(models: &[Candidate], target: f64) -> Option<&Candidate> {
    let good = models.iter().filter(|model| model.accuracy >= target);
    good.min_by(|a, b| a.energy.0.total_cmp(&b.energy.0).then(b.accuracy.total_cmp(&a.accuracy)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn model(name: &str, accuracy: f64, energy: f64) -> Candidate {
        Candidate { name: name.to_owned(), accuracy, energy: Joules(energy), ends: None, kind: None }
    }

    fn models() -> Vec<Candidate> {
        vec![
            model("tiny", 82.0, 1.0),
            model("wide", 81.0, 3.0),
            model("base", 92.0, 9.0),
            model("small", 88.0, 4.0),
        ]
    }

    #[test]
    fn the_front_leaves_out_what_takes_more_and_gives_less() {
        let models = models();
        let names: Vec<&str> = front(&models).into_iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names, ["tiny", "small", "base"]);
        assert_eq!(standings(&models)[1], Standing::Behind);
    }

    #[test]
    fn equals_are_both_on_the_front() {
        let twins = [model("a", 1.0, 2.0), model("b", 1.0, 2.0), model("c", 1.0, 2.5), model("d", 0.5, 2.0)];
        assert_eq!(standings(&twins), [Standing::Front, Standing::Front, Standing::Behind, Standing::Behind]);
    }

    #[test]
    fn what_lies_inside_its_interval_is_not_certain() {
        let mut models = models();
        models[1].ends = Some((Joules(0.5), Joules(5.0)));
        assert_eq!(standings(&models)[1], Standing::Perhaps);
        models[0].ends = Some((Joules(0.1), Joules(0.4)));
        models[0].energy = Joules(0.3);
        assert_eq!(standings(&models)[1], Standing::Behind);
    }

    #[test]
    fn budgets_and_targets() {
        let models = models();
        let name = |model: Option<&Candidate>| model.map(|model| model.name.clone());
        assert_eq!(name(best_under(&models, Joules(4.0))).as_deref(), Some("small"));
        assert_eq!(best_under(&models, Joules(0.5)), None);
        assert_eq!(name(cheapest_reaching(&models, 85.0)).as_deref(), Some("small"));
        assert_eq!(cheapest_reaching(&models, 99.0), None);
    }

    proptest! {
        #[test]
        fn choices_are_on_the_front(
            values in prop::collection::vec((0.0_f64..100.0, 0.1_f64..50.0), 1..20),
            budget in 0.1_f64..60.0,
            target in 0.0_f64..100.0,
        ) {
            let models: Vec<Candidate> = values.iter().map(|(accuracy, energy)| model("m", *accuracy, *energy)).collect();
            let front = front(&models);
            prop_assert!(!front.is_empty());
            prop_assert!(front.windows(2).all(|pair| pair[0].accuracy <= pair[1].accuracy));
            for chosen in [best_under(&models, Joules(budget)), cheapest_reaching(&models, target)].into_iter().flatten() {
                prop_assert!(front.contains(&chosen), "{:?}", chosen);
            }
        }
    }
}
