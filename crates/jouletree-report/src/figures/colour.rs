//! Colours that can be distinguished in print and by colour-blind readers: those of Okabe and Ito for passes, one blue from pale to dark for
//! shares.

use jouletree_model::Pass;

/// Text, axes and arrows.
pub const INK: &str = "#1a1a1a";
/// The background: secondary text and lines.
pub const GREY: &str = "#595959";
/// Lines of a grid.
pub const GRID: &str = "#dcdcdc";
/// Paper.
pub const WHITE: &str = "#ffffff";
/// What is pointed out.
pub const BAND: &str = "#fbdc9c";
/// What follows from it.
pub const TAIL: &str = "#d9e8c8";
/// Energy of recorded steps while no operation ran,
pub const BETWEEN: &str = "#b3b3b3";
/// and energy outside of them.
pub const OUTSIDE: &str = "#e6e6e6";
/// A line of power,
pub const LINE: &str = "#0072b2";
/// the deviation around it,
pub const SPREAD: &str = "#cfe3f2";
/// and the points of it that are pointed out.
pub const POINT: &str = "#d55e00";

/// The blues, from nothing to everything: red, green, blue.
const BLUES: [[f64; 3]; 5] = [
    [247.0, 251.0, 255.0],
    [200.0, 221.0, 240.0],
    [115.0, 179.0, 216.0],
    [33.0, 113.0, 181.0],
    [8.0, 48.0, 107.0],
];

/// The colour of a pass.
pub fn of_pass(pass: Pass) -> &'static str {
    match pass {
        Pass::Forward => "#0072b2",
        Pass::Backward => "#e69f00",
        Pass::Optimizer => "#009e73",
    }
}

/// The letter of a pass, for those who print without colours.
pub fn letter_of_pass(pass: Pass) -> &'static str {
    match pass {
        Pass::Forward => "F",
        Pass::Backward => "B",
        Pass::Optimizer => "O",
    }
}

/// The colour of a share of the whole, and that of text upon it.
pub fn of_share(share: f64) -> (String, &'static str) {
    // Most shares are small: the square root separates them.
    let along = if share.is_finite() { share.clamp(0.0, 1.0).sqrt() } else { 0.0 } * (BLUES.len() - 1) as f64;
    let from = (along.floor() as usize).min(BLUES.len() - 2);
    let part = along - from as f64;
    let mixed: [f64; 3] =
        std::array::from_fn(|channel| BLUES[from][channel] * (1.0 - part) + BLUES[from + 1][channel] * part);
    let [red, green, blue] = mixed.map(|value| value.round() as u8);
    let upon = if contrast(mixed) > 0.2 { INK } else { WHITE };
    (format!("#{red:02x}{green:02x}{blue:02x}"), upon)
}

/// How light a colour is, from black to white.
fn contrast([red, green, blue]: [f64; 3]) -> f64 {
    let linear = |value: f64| (value / 255.0).powf(2.2);
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_shares_are_darker() {
        let lights: Vec<f64> = (0..=20)
            .map(|share| {
                let (colour, _) = of_share(f64::from(share) / 20.0);
                let channel = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap());
                contrast([channel(1), channel(3), channel(5)])
            })
            .collect();
        assert!(lights.is_sorted_by(|a, b| a > b), "{lights:?}");
        assert_eq!((of_share(0.01).1, of_share(0.9).1, of_share(f64::NAN).1), (INK, WHITE, INK));
    }
}
