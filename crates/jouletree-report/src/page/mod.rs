//! The page: one file that needs nothing else, with the study as JSON and a small script that draws it.

mod data;
mod digest;

use crate::Study;
use data::Data;
use digest::source;

const FRAME: &str = include_str!("../../assets/page.html");
const STYLE: &str = include_str!("../../assets/page.css");
/// In this order; the last one begins.
const SCRIPTS: [&str; 19] = [
    include_str!("../../assets/words.js"),
    include_str!("../../assets/paper.js"),
    include_str!("../../assets/model.js"),
    include_str!("../../assets/state.js"),
    include_str!("../../assets/filter.js"),
    include_str!("../../assets/headline.js"),
    include_str!("../../assets/trust.js"),
    include_str!("../../assets/facts.js"),
    include_str!("../../assets/stages.js"),
    include_str!("../../assets/layers.js"),
    include_str!("../../assets/diagram.js"),
    include_str!("../../assets/icicle.js"),
    include_str!("../../assets/kinds.js"),
    include_str!("../../assets/top.js"),
    include_str!("../../assets/chart.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/operations.js"),
    include_str!("../../assets/provenance.js"),
    include_str!("../../assets/start.js"),
];

/// The page of a study.
pub fn page(study: &Study) -> Result<String, serde_json::Error> {
    let data = in_script(&serde_json::to_string(&Data::of(study))?);
    Ok(framed(&study.title, &data))
}

/// The frame with everything in it. Each mark occurs once; title and data come last, as they may hold anything.
fn framed(title: &str, data: &str) -> String {
    let script = ["\n\"use strict\";\n", &SCRIPTS.concat()].concat();
    let (before, after) = FRAME.split_once("/*data*/").unwrap_or((FRAME, ""));
    let before = before.replace("/*script-digest*/", &source(&script)).replace("/*style-digest*/", &source(STYLE));
    let before = before.replace("/*style*/", STYLE).replace("<!--title-->", &in_text(title));
    [&before, data, &after.replace("/*script*/", &script)].concat()
}

/// JSON that cannot end the script element that it is in, whatever names it holds.
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

    /// The browser runs the one script and applies the one style that the policy names, and nothing else inside the page.
    #[test]
    fn the_policy_names_what_is_in_the_page() {
        let page = framed("a /*script*/ <b> /*data*/", "{}");
        let element = |begin: &str, end: &str| {
            let start = page.rfind(begin).unwrap() + begin.len();
            page[start..start + page[start..].find(end).unwrap()].to_owned()
        };
        let policy = element("Content-Security-Policy\" content=\"", "\"");
        assert!(!policy.contains("unsafe"), "{policy}");
        for (directive, text) in
            [("style-src", element("<style>", "</style>")), ("script-src", element("<script>", "</script>"))]
        {
            assert!(policy.contains(&format!("{directive} '{}'", source(&text))), "{policy}");
        }
        assert!(element("<script>", "</script>").contains("use strict"));
        assert!(
            page.contains("<title>a /*script*/ &lt;b> /*data*/</title>")
                || page.contains("&lt;b&gt; /*data*/</title>")
        );
        assert!(page.contains("id=\"data\">{}</script>"));
    }
}
