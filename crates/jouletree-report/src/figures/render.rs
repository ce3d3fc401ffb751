//! From a picture to a file for a paper: PDF with selectable text, PNG at 300 dots per inch.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

use super::{FigureError, font};

/// How many dots an inch of a PNG has.
const PNG_DPI: f32 = 300.0;
/// How many pixels an inch of SVG has.
const SVG_DPI: f32 = 96.0;
/// The signature of a PNG and its first part, the header, have this length together.
const PNG_HEADER: usize = 33;

/// The family of the font.
const FAMILY: &str = "DejaVu Sans";

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(font::FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// A picture as PDF, in its size.
pub fn pdf(name: &str, svg: &str) -> Result<Vec<u8>, FigureError> {
    let tree = tree(name, svg)?;
    let options = ConversionOptions::default();
    svg2pdf::to_pdf(&tree, options, PageOptions { dpi: SVG_DPI })
        .map_err(|error| FigureError::Drawing { name: name.to_owned(), why: error.to_string() })
}

/// A picture as PNG.
pub fn png(name: &str, svg: &str) -> Result<Vec<u8>, FigureError> {
    let failed = |why: String| FigureError::Drawing { name: name.to_owned(), why };
    let tree = tree(name, svg)?;
    let scale = PNG_DPI / SVG_DPI;
    let size = tree.size().to_int_size().scale_by(scale).ok_or_else(|| failed("it has no size".to_owned()))?;
    let mut pixels =
        Pixmap::new(size.width(), size.height()).ok_or_else(|| failed("it is too large".to_owned()))?;
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    let png = pixels.encode_png().map_err(|error| failed(error.to_string()))?;
    Ok(with_resolution(&png))
}

fn tree(name: &str, svg: &str) -> Result<Tree, FigureError> {
    let options = Options { fontdb: FONTS.clone(), ..Options::default() };
    Tree::from_str(svg, &options)
        .map_err(|error| FigureError::Drawing { name: name.to_owned(), why: error.to_string() })
}

/// A PNG that says how large it is on paper, so that it has the right size where it is inserted.
fn with_resolution(png: &[u8]) -> Vec<u8> {
    let dots_per_metre = (PNG_DPI / 0.0254).round() as u32;
    let mut part = b"pHYs".to_vec();
    part.extend(dots_per_metre.to_be_bytes());
    part.extend(dots_per_metre.to_be_bytes());
    part.push(1);
    let (header, rest) = png.split_at(PNG_HEADER.min(png.len()));
    let length = (part.len() - 4) as u32;
    [header, &length.to_be_bytes(), &part, &checksum(&part).to_be_bytes(), rest].concat()
}

/// The checksum of a part of a PNG, which is the CRC-32 of Ethernet.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }
}
