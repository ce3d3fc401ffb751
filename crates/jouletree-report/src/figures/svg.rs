//! Writes SVG: a handful of shapes and text, everything escaped, in points at the size of the printed figure.

use std::fmt::Write;

use super::font;

/// The families of the text: that which was measured, then what most machines have.
const FAMILIES: &str = "DejaVu Sans Condensed, DejaVu Sans, Arial Narrow, Arial, Helvetica, sans-serif";

/// A picture under way.
#[derive(Debug, Clone)]
pub struct Picture {
    /// How wide it is.
    pub width: f64,
    body: String,
}

/// Which end of a text is at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Stroke<'a> {
    pub colour: &'a str,
    pub width: f64,
    pub is_dashed: bool,
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// How a text is written.
#[derive(Debug, Clone, Copy)]
pub struct Pen<'a> {
    pub size: f64,
    pub colour: &'a str,
    pub anchor: Anchor,
}

impl<'a> Stroke<'a> {
    pub fn new(colour: &'a str, width: f64) -> Stroke<'a> {
        Stroke { colour, width, is_dashed: false }
    }

    fn attributes(&self) -> String {
        let dashes = if self.is_dashed { " stroke-dasharray=\"2.4 1.6\"" } else { "" };
        format!("stroke=\"{}\" stroke-width=\"{}\"{dashes}", self.colour, number(self.width))
    }
}

impl Picture {
    pub fn new(width: f64) -> Picture {
        Picture { width, body: String::new() }
    }

    pub fn rect(&mut self, area: Area, fill: &str, stroke: Option<Stroke<'_>>, radius: f64) {
        let Area { x, y, width, height } = area;
        let stroke = stroke.map(|stroke| format!(" {}", stroke.attributes())).unwrap_or_default();
        let rounded = if radius > 0.0 { format!(" rx=\"{}\"", number(radius)) } else { String::new() };
        self.element(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"{stroke}{rounded}/>",
            number(x),
            number(y),
            number(width.max(0.0)),
            number(height.max(0.0)),
        ));
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke<'_>) {
        let (x1, y1, x2, y2) = (number(from.0), number(from.1), number(to.0), number(to.1));
        self.element(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {}/>",
            stroke.attributes()
        ));
    }

    pub fn path(&mut self, way: &Way, fill: &str, stroke: Option<Stroke<'_>>) {
        let stroke = stroke.map(|stroke| format!(" {} stroke-linejoin=\"round\"", stroke.attributes()));
        self.element(format_args!("<path d=\"{}\" fill=\"{fill}\"{}/>", way.0, stroke.unwrap_or_default()));
    }

    /// Writes a text with its line at `y`.
    pub fn text(&mut self, x: f64, y: f64, text: &str, pen: Pen<'_>) {
        self.write_text(format_args!("x=\"{}\" y=\"{}\"", number(x), number(y)), text, pen);
    }

    /// Writes a text upwards, its letters left of `x`.
    pub fn text_upwards(&mut self, x: f64, y: f64, text: &str, pen: Pen<'_>) {
        self.write_text(
            format_args!("transform=\"translate({} {}) rotate(-90)\"", number(x), number(y)),
            text,
            pen,
        );
    }

    fn write_text(&mut self, place: std::fmt::Arguments<'_>, text: &str, pen: Pen<'_>) {
        let anchor = match pen.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (size, colour, text) = (number(pen.size), pen.colour, escaped(&font::printable(text)));
        if !text.is_empty() {
            self.element(format_args!(
                "<text {place} font-size=\"{size}\" fill=\"{colour}\"{anchor}>{text}</text>"
            ));
        }
    }

    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    /// The finished picture; `title` is read by those who cannot see it.
    pub fn finish(self, height: f64, title: &str) -> String {
        let (width, height) = (number(self.width), number(height));
        let title = escaped(&font::printable(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILIES}\" font-stretch=\"condensed\">\n\
             <title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// A line of straight and bent pieces.
#[derive(Debug, Clone, Default)]
pub struct Way(String);

impl Way {
    pub fn from(at: (f64, f64)) -> Way {
        Way(format!("M{} {}", number(at.0), number(at.1)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn jump(&mut self, to: (f64, f64)) {
        let _ = write!(self.0, "M{} {}", number(to.0), number(to.1));
    }

    pub fn line(&mut self, to: (f64, f64)) {
        let _ = write!(self.0, "L{} {}", number(to.0), number(to.1));
    }

    /// Goes on to a point, upright at both ends.
    pub fn bend(&mut self, from: (f64, f64), to: (f64, f64)) {
        let middle = number((from.1 + to.1) / 2.0);
        let (x1, x2, y2) = (number(from.0), number(to.0), number(to.1));
        let _ = write!(self.0, "C{x1} {middle} {x2} {middle} {x2} {y2}");
    }

    pub fn close(&mut self) {
        self.0.push('Z');
    }
}

/// A number with two decimals at most; nothing that is no number ever reaches a picture.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use resvg::usvg::roxmltree::Document;

    fn written(text: &str) -> String {
        let mut picture = Picture::new(240.0);
        let pen = Pen { size: 7.0, colour: super::super::colour::INK, anchor: Anchor::Start };
        picture.text(10.0, 10.0, text, pen);
        picture.text_upwards(10.0, 10.0, text, pen);
        picture.finish(20.0, text)
    }

    #[test]
    fn names_stay_text() {
        let nasty = "</text><script>alert(\"1\")</script>&amp;<!-- ]]> \u{0}\u{1b}\u{ffff}\u{202e}'";
        let svg = written(nasty);
        let document = Document::parse(&svg).unwrap();
        assert!(document.descendants().all(|node| node.tag_name().name() != "script"));
        let text = document.descendants().find(|node| node.tag_name().name() == "text").unwrap();
        assert!(text.text().unwrap().starts_with("</text><script>alert(\"1\")</script>&amp;<!-- ]]> \u{fffd}"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([number(1.0), number(1.234), number(-0.001), number(f64::NAN)], ["1", "1.23", "0", "0"]);
    }

    proptest! {
        #[test]
        fn whatever_the_text_the_picture_is_xml(text in "\\PC*|.*") {
            let svg = written(&text);
            prop_assert!(Document::parse(&svg).is_ok(), "{svg}");
        }
    }
}
