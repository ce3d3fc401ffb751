//! Regions of clouds compared: a list whose bars are drawn here, so that it needs no script and no other file.

use super::html::escaped;
use jouletree_carbon::amounts;
use jouletree_carbon::estimate::Region;

/// The list, the fewest grams first.
pub fn chart(regions: &[Region]) -> String {
    let most = regions.iter().filter_map(|region| Some(region.carbon?.0)).fold(0.0, f64::max);
    let bars: String = regions.iter().map(|region| bar(region, most)).collect();
    format!("<ol class=\"bars\">\n{bars}</ol>\n")
}

fn bar(region: &Region, most: f64) -> String {
    let zone = format!("{}/{}", region.provider, region.region);
    let grams = region.carbon.unwrap_or_default().0;
    let percent = if most > 0.0 { 100.0 * grams / most } else { 0.0 };
    let here = if region.is_here { " class=\"here\" aria-current=\"true\"" } else { "" };
    let place = if region.name.is_empty() { region.country } else { region.name };
    let figure = region.carbon.map_or("unknown".to_owned(), amounts::grams);
    let intensity = region.intensity.map(|intensity| format!("{:.0} g/kWh", intensity.0)).unwrap_or_default();
    let year = region.year.map(|year| format!("{year}, ")).unwrap_or_default();
    let source = region.source.as_deref().map(|source| format!("{year}{source}")).unwrap_or_default();
    format!(
        "<li data-region=\"{zone}\" data-grams=\"{grams}\"{here} title=\"{source}\">\
         <span class=\"name\"><b>{zone}</b> <span class=\"place\">{place}</span></span>\
         <svg class=\"track\" width=\"100%\" height=\"14\" aria-hidden=\"true\">\
         <rect width=\"{percent:.3}%\" height=\"14\" rx=\"2\"/></svg>\
         <span class=\"figure\">{figure} <span class=\"intensity\">{intensity}</span></span></li>\n",
        zone = escaped(&zone),
        source = escaped(&source),
        place = escaped(place),
        figure = escaped(&figure),
    )
}
