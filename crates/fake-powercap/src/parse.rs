//! Reading the text form of scripts.

use std::time::Duration;

use jouletree_model::{Joules, Watts};

use crate::{Fault, Mishap, Power, Script, Segment, Shape, Start};

/// A script that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptError {
    /// The line it is in, from one.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

/// More steps than this would not be a script but an attack.
const MOST_STEPS: f64 = 1e6;

pub(crate) fn script(text: &str) -> Result<Script, ScriptError> {
    let mut script = Script::default();
    for (index, line) in text.lines().enumerate() {
        let statement = line.split('#').next().unwrap_or_default().trim();
        statement_into(statement, index, &mut script)
            .map_err(|message| ScriptError { line: index + 1, message })?;
    }
    Ok(script)
}

fn statement_into(statement: &str, index: usize, script: &mut Script) -> Result<(), String> {
    let words: Vec<&str> = statement.split_whitespace().collect();
    match words.as_slice() {
        [] => {}
        ["seed", seed] => {
            script.seed = seed.parse().map_err(|_| format!("`{seed}` is no seed; write a number"))?
        }
        ["start", time, "before", "wrap"] => script.start = Start::BeforeWrap(duration(time)?),
        ["start", count] => script.start = Start::At(energy(count)?),
        ["at", time, rest @ ..] => script.faults.push(fault(duration(time)?, rest)?),
        _ => {
            let (zone, segments) = statement.split_once(": ").ok_or_else(|| {
                format!("`{statement}` is no statement; begin with seed, start, at, or a zone and a colon")
            })?;
            let segments: Result<Vec<Segment>, String> = segments
                .split(',')
                .enumerate()
                .map(|(n, text)| segment(text, (index * 1000 + n) as u64))
                .collect();
            script.powers.insert(zone.trim().to_owned(), Power::new(segments?));
        }
    }
    Ok(())
}

fn segment(text: &str, seed: u64) -> Result<Segment, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (words, lasts) = lasting(&words)?;
    let timed = || {
        lasts.filter(|lasts| !lasts.is_zero()).ok_or_else(|| format!("`{}` must say `for` how long", text.trim()))
    };
    let shape = match words {
        [power] => Shape::Constant(watts(power)?),
        ["ramp", from, "to", to] => timed().and(Ok(Shape::Ramp(watts(from)?, watts(to)?)))?,
        ["square", one, "to", other, "every", period] => {
            Shape::Square(watts(one)?, watts(other)?, positive(duration(period)?, "a period")?)
        }
        ["walk", low, "to", high, "by", step, "every", every] => {
            let (low, high, every, lasts) =
                (watts(low)?, watts(high)?, positive(duration(every)?, "a step")?, timed()?);
            if low > high || lasts.as_secs_f64() / every.as_secs_f64() > MOST_STEPS {
                return Err(format!("`{}` must go from less to more in at most a million steps", text.trim()));
            }
            Shape::walk((low, high), watts(step)?, every, lasts, seed)
        }
        _ => {
            return Err(format!(
                "`{}` is no power; write 50W, ramp 50W to 80W, square 20W to 80W every 3ms, or \
                 walk 20W to 80W by 5W every 10ms, each with `for` a time",
                text.trim()
            ));
        }
    };
    Ok(Segment { shape, lasts })
}

fn fault(at: Duration, words: &[&str]) -> Result<Fault, String> {
    if let ["jump", time] = words {
        return Ok(Fault { at, lasts: None, zone: None, mishap: Mishap::Jump(duration(time)?) });
    }
    let (words, lasts) = lasting(words)?;
    let (zone, mishap) = match words {
        [zone, "freeze"] => (zone, Mishap::Freeze),
        [zone, "garbage"] => (zone, Mishap::Garbage),
        [zone, "empty"] => (zone, Mishap::Empty),
        [zone, "beyond"] => (zone, Mishap::Beyond),
        [zone, "refuse"] => (zone, Mishap::Refuse),
        [zone, "vanish"] => (zone, Mishap::Vanish),
        [zone, "back", by] => (zone, Mishap::Back(energy(by)?)),
        _ => {
            return Err(format!(
                "`{}` is no fault; write a zone and freeze, garbage, empty, beyond, refuse, vanish or back 5J; or jump 900s",
                words.join(" ")
            ));
        }
    };
    Ok(Fault { at, lasts, zone: Some((*zone).to_owned()), mishap })
}

fn lasting<'w, 't>(words: &'w [&'t str]) -> Result<(&'w [&'t str], Option<Duration>), String> {
    match words {
        [rest @ .., "for", time] => Ok((rest, Some(duration(time)?))),
        _ => Ok((words, None)),
    }
}

/// A time such as `3ms`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = quantity(text, &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0)], "a time such as 3ms")?;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is too long a time"))
}

fn positive(time: Duration, what: &str) -> Result<Duration, String> {
    if time.is_zero() { Err(format!("{what} must last longer than nothing")) } else { Ok(time) }
}

fn watts(text: &str) -> Result<Watts, String> {
    quantity(text, &[("kW", 1e3), ("mW", 1e-3), ("W", 1.0)], "a power such as 50W").map(Watts)
}

fn energy(text: &str) -> Result<Joules, String> {
    quantity(text, &[("kJ", 1e3), ("mJ", 1e-3), ("J", 1.0)], "an energy such as 5J").map(Joules)
}

fn quantity(text: &str, units: &[(&str, f64)], expected: &str) -> Result<f64, String> {
    units
        .iter()
        .find_map(|(unit, scale)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * scale))
        .filter(|value| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| format!("`{text}` is not {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_says_everything() {
        let text = "seed 7 # a remark\nstart 0.2s before wrap\n\n\
            package-0: 50W for 2s, ramp 50W to 1.1kW for 1s, square 20W to 80W every 3ms\n\
            package-0/dram: walk 5W to 20W by 1W every 10ms for 1s\n\
            at 1.5s package-0 freeze for 500ms\nat 4s package-0 back 5J\nat 6s jump 900s\n";
        let script: Script = text.parse().unwrap();
        assert_eq!((script.seed, script.start), (7, Start::BeforeWrap(Duration::from_millis(200))));
        assert_eq!(script.powers["package-0"].energy_by(Duration::from_secs(3)), Joules(675.0));
        assert_eq!(script.powers["package-0"].most(), Watts(1100.0));
        assert!(script.powers["package-0/dram"].most() <= Watts(20.0));
        assert_eq!(script.faults.len(), 3);
        assert_eq!(script.faults[2].mishap, Mishap::Jump(Duration::from_secs(900)));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (wrong, said) in [
            ("hello", "line 1: `hello` is no statement"),
            ("seed x", "no seed"),
            ("\npackage-0: lots", "line 2: `lots` is not a power"),
            ("package-0: ramp 1W to 2W", "must say `for`"),
            ("package-0: square 1W to 2W every 0s", "longer than nothing"),
            ("package-0: walk 1W to 2W by 1W every 1us for 60m", "a million"),
            ("package-0: -5W", "is not a power"),
            ("package-0: NaNW", "is not a power"),
            ("at 1s package-0 explode", "is no fault"),
            ("at soon package-0 freeze", "a time such as"),
            ("at 1s package-0 freeze for 1e99s", "too long"),
        ] {
            let error = wrong.parse::<Script>().unwrap_err().to_string();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
