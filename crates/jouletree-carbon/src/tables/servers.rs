//! What making the server behind an instance of a cloud emitted, by Cloud Carbon Footprint.

use std::sync::LazyLock;

use serde::Deserialize;

use super::read;

#[derive(Deserialize)]
struct Server {
    provider: String,
    instance: String,
    kg_co2e: f64,
}

static SERVERS: LazyLock<Vec<Server>> = LazyLock::new(|| read(include_str!("../../data/servers.csv")));

/// Kilograms of CO2 equivalent of making the whole server that such an instance runs on.
pub fn server(provider: &str, instance: &str) -> Option<f64> {
    let is_it = |server: &&Server| server.provider == provider && server.instance.eq_ignore_ascii_case(instance);
    SERVERS.iter().find(is_it).map(|server| server.kg_co2e)
}
