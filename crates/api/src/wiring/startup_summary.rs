//! A summary of engines and tool servers, for the operator who starts the service.

use std::collections::BTreeSet;

use super::engines::{EnginesByName, default_engine};
use crate::settings::Settings;

/// Returns the names of the engines, with the default, and of the tool servers. Their addresses are
/// omitted, because they may contain secrets.
pub fn startup_summary(settings: &Settings, engines: &EnginesByName) -> String {
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
