//! The page: a form, what it comes to, and the regions compared. It is whole without a script; the script only asks for it
//! again while the user types.

use jouletree_carbon::compare::ALL;
use jouletree_carbon::tables::{ACCELERATORS, COUNTRIES, CloudRegion, Country, Grid, Providers};

use super::form::{Form, OF_PROVIDER, Problem};
use super::html::{escaped, in_query, shell_word};
use super::regions;
use jouletree_carbon::amounts;
use jouletree_carbon::estimate::{Answer, Line, lines};

type Outcome = Result<Answer, Vec<Problem>>;

/// All of it.
pub fn page(form: &Form, outcome: &Outcome) -> String {
    let problems = outcome.as_ref().err().map(Vec::as_slice).unwrap_or_default();
    let (result, regions) = match outcome {
        Ok(answer) => (result(form, answer), compared(answer)),
        Err(_) => (
            "<p class=\"nothing\">Mend the marked fields to see what it comes to.</p>\n".to_owned(),
            String::new(),
        ),
    };
    let general: String = problems.iter().filter(|problem| problem.field.is_none()).map(message).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>Estimate energy and carbon – jouletree</title>\n<link rel=\"stylesheet\" href=\"/page.css\">\n\
         <script src=\"/page.js\" defer></script>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#result\">to the result</a>\n\
         <header><p class=\"brand\">jouletree</p></header>\n<main>\n\
         <h1>Estimate energy and carbon</h1>\n\
         <p class=\"hint\">Hardware for some hours at a place, from tables: an estimate before a run. To know, measure with \
         <code>jouletree run</code>.</p>\n\
         <div class=\"halves\">\n{form}\
         <div class=\"answer\">\n<div id=\"general\" data-live>{general}</div>\n\
         <section id=\"result\" data-live aria-live=\"polite\" aria-label=\"Result\">\n{result}</section>\n</div>\n</div>\n\
         <section id=\"regions\" data-live aria-label=\"Regions compared\">\n{regions}</section>\n\
         </main>\n<p id=\"trouble\" role=\"alert\" hidden></p>\n</body>\n</html>\n",
        form = fields(form, problems),
    )
}

fn message(problem: &Problem) -> String {
    format!("<p class=\"error\">{}</p>", escaped(&problem.message))
}

/// The form.
fn fields(form: &Form, problems: &[Problem]) -> String {
    let row = |name: &str, label: &str, control: String, hint: &str| {
        let wrong: String = problems
            .iter()
            .filter(|problem| problem.field == Some(name))
            .map(|problem| escaped(&problem.message))
            .collect();
        let hint = if hint.is_empty() { String::new() } else { format!("<span class=\"hint\">{hint}</span>") };
        format!(
            "<div class=\"field\"><label for=\"{name}\">{label}</label>{control}{hint}\
             <span class=\"error\" id=\"{name}-error\" data-live>{wrong}</span></div>\n"
        )
    };
    let common = |name: &str| {
        let is_wrong = problems.iter().any(|problem| problem.field == Some(name));
        format!("id=\"{name}\" name=\"{name}\" aria-describedby=\"{name}-error\" aria-invalid=\"{is_wrong}\"")
    };
    let value = |name: &str| escaped(form.value(name).unwrap_or_default());
    let text = |name: &str, more: &str| format!("<input {} value=\"{}\" {more}>", common(name), value(name));
    // Not `type=number`: it hides from the server what it takes for no number, and then no error can be shown.
    let number =
        |name: &str, more: &str| text(name, &format!("inputmode=\"decimal\" autocomplete=\"off\" {more}"));
    let listed =
        |name: &str, list: &str, more: &str| text(name, &format!("list=\"{list}\" autocomplete=\"off\" {more}"));
    let select = |name: &str, options: Vec<(&str, String)>| {
        let option = |(value, label): (&str, String)| {
            let chosen = if form.value(name).unwrap_or_default() == value { " selected" } else { "" };
            format!("<option value=\"{}\"{chosen}>{}</option>", escaped(value), escaped(&label))
        };
        format!("<select {}>{}</select>", common(name), options.into_iter().map(option).collect::<String>())
    };
    let providers = || Providers::all().map(|provider| (provider, provider.to_owned()));
    let provider = select("provider", [("", "none".to_owned())].into_iter().chain(providers()).collect());
    let compare = [
        (OF_PROVIDER, "the provider’s, or all".to_owned()),
        (ALL, "all providers’".to_owned()),
        ("", "none".to_owned()),
    ];
    let compare = select("compare", compare.into_iter().chain(providers()).collect());
    let ticked = if form.value("allow_world_average").is_some() { " checked" } else { "" };
    let world = format!("<input type=\"checkbox\" value=\"true\" {}{ticked}>", common("allow_world_average"));
    let hardware = [
        row("gpu", "Accelerator", listed("gpu", "gpus-list", ""), ""),
        row("watts", "or watts of one", number("watts", ""), ""),
        row("gpus", "How many", number("gpus", "placeholder=\"1\""), ""),
        row("hours", "Hours", number("hours", "required"), ""),
        row(
            "utilization",
            "Utilisation, 0 to 1",
            number("utilization", "placeholder=\"1\""),
            "1 is an upper bound",
        ),
        row(
            "cpu_watts",
            "Watts of the rest",
            number("cpu_watts", "placeholder=\"0\""),
            "processors, memory, fans",
        ),
    ];
    let place = [
        row("provider", "Cloud", provider, ""),
        row("cloud_region", "Its region", listed("cloud_region", "cloud-regions", ""), ""),
        row("country", "or country", listed("country", "countries", ""), ""),
        row("region", "State or province", listed("region", "grids", ""), ""),
        row("intensity", "or g CO₂e per kWh", number("intensity", ""), ""),
        row("pue", "PUE", number("pue", "placeholder=\"1\""), "data centre per computer"),
        row("wue", "Water, L per kWh", number("wue", ""), ""),
        row("allow_world_average", "World’s mean if unknown", world, "475 g/kWh"),
    ];
    let money = [
        row(
            "tariff",
            "Price of a kWh",
            text("tariff", "placeholder=\"0.25\""),
            "or 8:30-19:00=0.31,19:00-8:30=0.22",
        ),
        row("currency", "Currency", text("currency", "placeholder=\"EUR\""), ""),
        row(
            "embodied",
            "Making of the machine, kg",
            listed("embodied", "makings", ""),
            "<code>server</code> counts its parts",
        ),
        row("compare", "Compare regions", compare, ""),
    ];
    let set = |title: &str, rows: String| {
        format!("<fieldset><legend>{title}</legend><div class=\"fields\">\n{rows}</div></fieldset>\n")
    };
    format!(
        "<form method=\"get\" action=\"/\" novalidate>\n{}{}{}<button type=\"submit\">Estimate</button>\n{}</form>\n",
        set("Hardware", hardware.concat()),
        set("Place", place.concat()),
        set("Money and more", money.concat()),
        suggestions(form)
    )
}

/// What fields suggest; regions are those of the provider or country at hand.
fn suggestions(form: &Form) -> String {
    let list = |id: &str, options: String| format!("<datalist id=\"{id}\" data-live>{options}</datalist>\n");
    let option = |value: &str, label: &str| {
        format!("<option value=\"{}\" label=\"{}\"></option>", escaped(value), escaped(label))
    };
    let gpus = ACCELERATORS.iter().map(|known| option(&known.name, &format!("{} W", known.design_power.0)));
    let provider = form.value("provider").and_then(Providers::find);
    let regions =
        provider.into_iter().flat_map(CloudRegion::of).map(|region| option(&region.region, &region.name));
    let countries = COUNTRIES.iter().map(|country| option(&country.iso3, &country.name));
    let country = form.value("country").and_then(Country::find);
    let grids =
        country.into_iter().flat_map(|country| Grid::of(&country.iso3)).map(|grid| option(&grid.name, &grid.code));
    [
        list("gpus-list", gpus.collect()),
        list("cloud-regions", regions.collect()),
        list("countries", countries.collect()),
        list("grids", grids.collect()),
        list("makings", option("server", "counted from its parts")),
    ]
    .concat()
}

/// What it comes to.
fn result(form: &Form, answer: &Answer) -> String {
    let card = |id: &str, label: &str, value: String| {
        format!(
            "<div class=\"card\" id=\"{id}\"><span class=\"label\">{label}</span><span class=\"value\">{}</span>\
             <span class=\"kind predicted\">predicted</span></div>",
            escaped(&value)
        )
    };
    let mut cards = card("energy", "energy", amounts::kilowatt_hours(answer.energy_kwh));
    cards += &card("carbon", "carbon", answer.carbon.map_or("unknown".to_owned(), amounts::grams));
    if let (Some(cost), Some(currency)) = (answer.cost, &answer.currency) {
        cards += &card("cost", "cost", format!("{cost:.2} {currency}"));
    }
    let line = |line: Line| {
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"amount\">{}</td><td class=\"how\">{}</td></tr>\n",
            escaped(line.line),
            escaped(&line.text),
            escaped(&line.how)
        )
    };
    let rows: String = lines(answer).into_iter().map(line).collect();
    let note = |note: &String| format!("<li>{}</li>", escaped(note));
    let notes: String = answer.notes.iter().map(note).collect();
    let unknown = match answer.carbon {
        Some(_) => "",
        None => {
            "<p class=\"hint\">The location is unknown and is not guessed: choose a cloud, a country or an intensity.</p>\n"
        }
    };
    format!(
        "<div class=\"cards\">{cards}</div>\n{unknown}\
         <table class=\"lines\"><caption>Line by line, with sources</caption>\
         <thead><tr><th scope=\"col\">line</th><th scope=\"col\">amount</th><th scope=\"col\">how</th></tr></thead>\n\
         <tbody>{rows}</tbody></table>\n<ul class=\"notes\">{notes}</ul>\n\
         <p class=\"hint\">On the command line:</p>\n<pre id=\"command\">{}</pre>\n\
         <p class=\"hint\">For programs: <a id=\"json\" href=\"/estimate?{}\">the same as JSON</a></p>\n",
        escaped(&command(form)),
        escaped(&query(form))
    )
}

/// The same question on the command line.
fn command(form: &Form) -> String {
    let mut words = "jouletree estimate impact".to_owned();
    for (field, value) in form.filled() {
        let has_provider = form.value("provider").is_some();
        words += &match (field.name, value) {
            ("gpu", _) if form.value("watts").is_some() => String::new(),
            ("currency", _) if form.value("tariff").is_none() => String::new(),
            ("allow_world_average", _) => format!(" {}", field.flag),
            ("compare", OF_PROVIDER) if has_provider => format!(" {}", field.flag),
            ("compare", OF_PROVIDER) => format!(" {} {ALL}", field.flag),
            // A negative number looks like a flag.
            (_, value) if value.starts_with('-') => format!(" {}={}", field.flag, shell_word(value)),
            _ => format!(" {} {}", field.flag, shell_word(value)),
        };
    }
    words
}

fn query(form: &Form) -> String {
    let pairs: Vec<String> =
        form.filled().map(|(field, value)| format!("{}={}", field.name, in_query(value))).collect();
    pairs.join("&")
}

/// The regions compared.
fn compared(answer: &Answer) -> String {
    if answer.regions.is_empty() {
        return String::new();
    }
    format!(
        "<h2>The same energy elsewhere</h2>\n<p class=\"hint\">{} regions, the fewest grams first. Each figure names its \
         source when it is pointed at; none of them knows the hour.</p>\n{}",
        answer.regions.len(),
        regions::chart(&answer.regions)
    )
}
