//! Every static answer of the reference, which was computed by the trackers themselves; where they are wrong, what is right
//! and why.
use test_support::development;

use std::fs;

use jouletree_carbon::models::{cpu, ram};
use jouletree_carbon::tables::{CLOUD_REGIONS, Grid, Mix, Processors, without_published};
use jouletree_carbon::{
    Embodied, Epoch, Equivalents, Facility, Factors, Impact, Intensity, Location, chain, forecast,
    forecast_intensity, sci,
};
use jouletree_model::sampling::{Mono, Quality, SensorInfo};
use jouletree_model::{
    Device, DeviceClass, Grams, GramsPerKwh, Joules, KilowattHours, Kind, Microjoules, Nanos, Watts,
};
use jouletree_series::{Advance, Counter};
use serde_json::Value;

/// How near an answer must be, relative to its size.
const NEAR: f64 = 1e-6;

/// Answers of trackers that are wrong: what jouletree says instead (none for `unknown`), and why.
const WRONG: [(&str, Option<f64>, &str); 8] = [
    (
        "country_CAF",
        Some(26.0),
        "electricity is not made from nothing: the table has a hole, its mix is all hydro",
    ),
    ("unknown_country", None, "the mean of the world was not permitted for it"),
    (
        "region_USA_atlantis",
        None,
        "a mistyped region is an error that names the nearest, and not the whole country",
    ),
    ("cloud_aws_nowhere-9", None, "a mistyped region of a cloud is an error, and not the mean of the world"),
    ("uj_to_kwh", Some(1.0), "a kilowatt-hour is 3.6e12 microjoules exactly"),
    ("mix_fallback_to_world_average", Some(0.0), "every country's mix has a factor for each of its sources"),
    ("mlco2_calc", Some(13.925), "the intensity is not rounded to two digits before it is multiplied"),
    ("rapl_wrap_no_max", None, "where the range of a counter is not known there is a gap, and not zero energy"),
];

#[test]
fn every_static_answer() {
    let Some(path) = development::development_data("carbon/reference.json") else { return };
    let reference: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let questions = reference["static"].as_array().unwrap();
    assert_eq!(questions.len(), 103);
    let mut differing = Vec::new();
    for question in questions {
        let id = question["id"].as_str().unwrap();
        let theirs = question["expect"].as_f64();
        let (expected, why) = match WRONG.iter().find(|wrong| wrong.0 == id) {
            Some((_, right, why)) => (*right, *why),
            None => (theirs, "as the tracker says"),
        };
        let ours = answer(id, &question["input"]);
        let is_near = match (ours, expected) {
            (Some(ours), Some(expected)) => (ours - expected).abs() <= NEAR * expected.abs(),
            (ours, expected) => ours == expected,
        };
        if !is_near {
            differing.push(format!("{id}: {ours:?} and not {expected:?} ({why})"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// What jouletree says; none where it says `unknown` or that something is wrong.
fn answer(id: &str, input: &Value) -> Option<f64> {
    let number = |name: &str| input[name].as_f64().unwrap_or_else(|| panic!("{id} has no {name}"));
    let numbers =
        |name: &str| -> Vec<f64> { input[name].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect() };
    let family = id.split('_').next().unwrap();
    Some(match (id, family) {
        ("lecture_mix" | "lecture_mix_codecarbon", _) => mix(input).intensity()?.0,
        ("unknown_country" | "forced_intensity", _) | (_, "country" | "region" | "cloud") => grams(input)?,
        ("constant_mode", _) => cpu::constant(Watts(number("tdp_w"))).0,
        ("unknown_cpu", _) => cpu::design_power("no such processor", number("threads") as usize).0.0,
        ("uj_to_kwh", _) => Joules(number("uj") * 1e-6).kilowatt_hours().0,
        // The table of states is in grams already: California's 394.769 lb/MWh.
        ("lbs_mwh", _) => Grid::by_code("US-CA").unwrap().intensity.0 / 394.769 * number("lbs_per_mwh") * 1e-3,
        ("rapl_wrap" | "rapl_wrap_no_max", _) => counted(input)?.kilowatt_hours().0,
        ("mix_fallback_to_world_average", _) => {
            let countries = without_published();
            assert_eq!(countries.len() as f64, number("countries"));
            countries.iter().filter(|country| chain::of_mix(country).is_none()).count() as f64
        }
        ("ct_predict_energy", _) => {
            let done: Vec<Epoch> =
                numbers("epoch_energy_it_kwh").iter().map(|kwh| epoch(kwh * 3.6e6, 1.0)).collect();
            let seen = forecast(&done, number("epochs") as usize)?;
            let facility = Facility::new(number("pue"), 0.0).unwrap();
            Impact::of(seen.energy, facility, None).energy.kilowatt_hours().0
        }
        ("ct_predict_time", _) => {
            let done: Vec<Epoch> = numbers("epoch_times_s").iter().map(|seconds| epoch(1.0, *seconds)).collect();
            forecast(&done, number("epochs") as usize)?.time.0 as f64 * 1e-9
        }
        ("ct_km", _) => Equivalents::of(Grams(number("g")), Factors::USUAL).car_km,
        ("ct_forecast_weighting", _) => {
            forecast_intensity(&numbers("measured"), number("latest"), number("pred_seconds"))
        }
        ("mlco2_calc", _) => {
            let energy = Joules(number("w") * number("hours") * 3600.0);
            let intensity = Intensity::given(GramsPerKwh(number("g_per_kwh")));
            Impact::of(energy, Facility::default(), Some(&intensity)).carbon?.0 * 1e-3
        }
        ("mlco2_km", _) => number("kg") * 1e3 / Factors::MLCO2_CAR_G_PER_MILE * Factors::KM_PER_MILE,
        ("mlco2_coal", _) => number("kg") * 1e3 / Factors::MLCO2_G_PER_POUND_OF_COAL * 0.453_592_37,
        ("mlco2_trees", _) => number("kg") * 1e3 / Factors::MLCO2_G_PER_SEEDLING,
        ("eco2ai_emission", _) => {
            Intensity::given(GramsPerKwh(number("kg_per_mwh"))).grams(KilowattHours(number("kwh"))).0 * 1e-3
        }
        ("board_miles", _) => number("kg") * 1e3 / Factors::CODECARBON_CAR_G_PER_MILE,
        ("board_tv", _) => Equivalents::of(Grams(number("kg") * 1e3), Factors::USUAL).tv_hours * 60.0,
        ("board_household", _) => number("kg") * 1e3 / Factors::CODECARBON_HOUSEHOLD_G_PER_WEEK * 100.0,
        ("gmt_embodied", _) => {
            let machine =
                Embodied { total: Grams(number("TE_g")), life_years: number("EL_years"), share: number("RS") };
            machine.grams(Nanos((number("seconds") * 1e9) as i64)).0
        }
        ("sci", _) => {
            let operational =
                Intensity::given(GramsPerKwh(number("I_g_per_kwh"))).grams(KilowattHours(number("E_kwh")));
            sci(operational, Grams(number("M_g")), number("R"))?.0
        }
        ("water", _) => {
            let facility = Facility::new(number("pue"), number("wue")).unwrap();
            Impact::of(Joules(number("kwh_it") * 3.6e6), facility, None).water_l
        }
        (_, "ram") => {
            let rule = match input["arm"].as_bool() {
                Some(is_arm) => ram::Rule::PerModule { is_arm },
                None => ram::Rule::PerGigabyte,
            };
            if let Some(modules) = input["dimms"].as_u64() {
                assert_eq!(u64::from(ram::modules(number("gb"))), modules, "{id}");
            }
            ram::power(rule, number("gb")).0
        }
        (_, "cpuload") => match input["load_pct"].as_f64() {
            Some(load) => cpu::machine(Watts(number("tdp_w")), load / 100.0).0,
            None => cpu::process(Watts(number("tdp_w")), number("share_pct") / 100.0).0,
        },
        (_, "tdp") => {
            let found = Processors::find(input["model"].as_str().unwrap());
            assert_eq!(found.map(|found| found.0), input["matched"].as_str(), "{id}");
            found?.1
        }
        _ => panic!("{id} is not asked"),
    })
}

fn mix(input: &Value) -> Mix {
    let mut mix = Mix::default();
    for (source, amount) in input.as_object().unwrap() {
        if let (Some(amount), false) = (amount.as_f64(), source.starts_with("total")) {
            mix.add(source.trim_end_matches("_TWh"), amount);
        }
    }
    mix
}

/// Grams for an energy at a place.
fn grams(input: &Value) -> Option<f64> {
    let text = |name: &str| input[name].as_str();
    let (region, cloud_region) = match text("provider") {
        Some(_) => (None, text("region")),
        None => (text("region"), None),
    };
    let place = Location::find(text("iso3"), region, text("provider"), cloud_region).ok()?;
    let known =
        chain::Known { given: input["forced_g_per_kwh"].as_f64().map(GramsPerKwh), ..chain::Known::default() };
    Some(chain::intensity(&known, &place)?.grams(KilowattHours(input["energy_kwh"].as_f64().unwrap())).0)
}

/// What a counter says between two readings; none when it cannot be known.
fn counted(input: &Value) -> Option<Joules> {
    let count = |name: &str| input[name].as_f64().map(|count| count as u64);
    let info = SensorInfo {
        device: Device::new(DeviceClass::Cpu, 0),
        domain: None,
        source: "reference".to_owned(),
        kind: Kind::Measured,
        range: count("max_uj"),
        step: Microjoules(61.0),
        period: Nanos(1_000_000),
        most: Watts(1000.0),
        is_slow: false,
        quality: Quality::default(),
    };
    let mut counter = Counter::new(&info);
    counter.take(Mono(0), count("before_uj")?);
    match counter.take(Mono(count("seconds").unwrap_or(1) as i64 * 1_000_000_000), count("after_uj")?) {
        Advance::By(microjoules) => Some(Joules(microjoules as f64 * 1e-6)),
        Advance::Begins | Advance::Gap(_) => None,
    }
}

fn epoch(joules: f64, seconds: f64) -> Epoch {
    Epoch { energy: Joules(joules), time: Nanos((seconds * 1e9) as i64) }
}

/// What is unknown stays unknown, unless the user allows the mean of the world; and then it says so.
#[test]
fn the_mean_of_the_world_is_opt_in() {
    let place = Location::default();
    assert_eq!(chain::intensity(&chain::Known::default(), &place), None);
    let allowed = chain::Known { world_average: true, ..chain::Known::default() };
    let known = chain::intensity(&allowed, &place).unwrap();
    assert_eq!((known.value.0, known.zone.as_str(), known.origin.as_str()), (475.0, "world", "world-average"));
}

/// Every figure says of which grid and year it is, and who published it.
#[test]
fn every_figure_has_a_source() {
    for (country, region) in
        [("ITA", None), ("USA", Some("california")), ("CHN", Some("beijing")), ("SWE", Some("SE3"))]
    {
        let place = Location::find(Some(country), region, None, None).unwrap();
        let known = chain::intensity(&chain::Known::default(), &place).unwrap();
        assert!(known.year.is_some() && !known.source.is_empty() && !known.zone.is_empty(), "{known:?}");
    }
    for region in CLOUD_REGIONS.iter() {
        let place = Location::find(None, None, Some(&region.provider), Some(&region.region)).unwrap();
        let known = chain::intensity(&chain::Known::default(), &place).unwrap();
        assert!(known.year.is_some() && !known.source.is_empty() && !known.zone.is_empty(), "{known:?}");
    }
}
