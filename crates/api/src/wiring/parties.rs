//! Who takes part, in one line for whoever starts the service.

use std::collections::BTreeSet;

use super::engines::{EnginesByName, default_engine};
use crate::settings::Settings;

/// Names the engines, with the one that is the default, and the servers of tools. Where they are is
/// not told: an address may hold what is secret.
pub fn parties(settings: &Settings, engines: &EnginesByName) -> String {
    let providers = settings.models.providers.iter().map(|it| &it.engine);
    let names: BTreeSet<&String> = engines.keys().chain(providers).collect();
    let default = default_engine(settings, names.iter().copied());
    let engines: Vec<String> = names
        .iter()
        .map(|name| {
            let mark = if *name == default { " (default)" } else { "" };
            format!("{name}{mark}")
        })
        .collect();
    let servers: Vec<&str> = settings
        .tool_servers
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let servers = if servers.is_empty() {
        "none".to_owned()
    } else {
        servers.join(", ")
    };
    format!("engines: {}; tool servers: {servers}", engines.join(", "))
}
