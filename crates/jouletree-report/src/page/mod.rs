//! The page: one file that needs nothing else, with the study as JSON and a small script that draws it.

mod data;

use crate::Study;
use data::Data;

const FRAME: &str = include_str!("../../assets/page.html");
const STYLE: &str = include_str!("../../assets/page.css");
/// In this order; the last one begins.
const SCRIPTS: [&str; 11] = [
    include_str!("../../assets/words.js"),
    include_str!("../../assets/model.js"),
    include_str!("../../assets/headline.js"),
    include_str!("../../assets/diagram.js"),
    include_str!("../../assets/icicle.js"),
    include_str!("../../assets/top.js"),
    include_str!("../../assets/power.js"),
    include_str!("../../assets/stages.js"),
    include_str!("../../assets/operations.js"),
    include_str!("../../assets/provenance.js"),
    include_str!("../../assets/start.js"),
];

/// The page of a study.
pub fn page(study: &Study) -> Result<String, serde_json::Error> {
    let data = in_script(&serde_json::to_string(&Data::of(study))?);
    let script = SCRIPTS.concat();
    // Each mark occurs once; the data come last, as they may hold anything.
    let frame = FRAME.replace("<!--title-->", &in_text(&study.title));
    let frame = frame.replace("/*style*/", STYLE).replace("/*script*/", &script);
    let (before, after) = frame.split_once("/*data*/").unwrap_or((&frame, ""));
    Ok([before, &data, after].concat())
}

/// JSON that cannot end the script element it stands in, whatever names it holds.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn in_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_data() {
        let json = serde_json::to_string("</script><!--\u{2028}").unwrap();
        let safe = in_script(&json);
        assert!(!safe.contains('<') && !safe.contains('\u{2028}'));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!--\u{2028}");
    }
}
