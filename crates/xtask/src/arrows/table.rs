//! The allowed dependencies. This table is the architecture: change it only on purpose.

/// A crate of the workspace and the crates that it may use.
pub(super) struct Layer {
    pub(super) package: &'static str,
    pub(super) may_use: &'static [&'static str],
    /// The crates that only its wiring may use.
    pub(super) may_wire: &'static [&'static str],
}

impl Layer {
    const fn new(package: &'static str, may_use: &'static [&'static str]) -> Self {
        Self {
            package,
            may_use,
            may_wire: &[],
        }
    }
}

/// From the inside out. No crate may use `contract` or `scripted_engine` except in its tests.
pub(super) const LAYERS: &[Layer] = &[
    Layer::new("domain", &[]),
    Layer::new("ports", &["domain"]),
    Layer::new("writes", &["domain", "ports"]),
    Layer::new("contract", &["domain", "ports", "writes"]),
    Layer::new("cpu_pool", &["domain"]),
    Layer::new("http_clients", &[]),
    Layer::new("application", &["domain", "ports", "writes"]),
    Layer::new("access", &["domain", "ports", "writes", "application"]),
    Layer::new("relational", &["domain", "ports"]),
    Layer::new("postgres_store", &["domain", "ports", "relational"]),
    Layer::new("sqlite_store", &["domain", "ports", "relational"]),
    Layer::new("rule_engine", &["domain", "ports", "cpu_pool"]),
    Layer::new("llm_engine", &["domain", "ports", "http_clients"]),
    Layer::new("scripted_engine", &["domain", "ports"]),
    Layer::new("built_in_tools", &["domain", "ports"]),
    Layer::new("mcp_tools", &["domain", "ports", "http_clients"]),
    Layer::new("local_limiter", &["domain", "ports"]),
    Layer::new("local_bus", &["domain", "ports"]),
    Layer::new("postgres_bus", &["domain", "ports", "local_bus"]),
    Layer::new("postgres_limiter", &["domain", "ports"]),
    Layer::new("redis_adapter", &["domain", "ports", "local_bus"]),
    Layer::new("web_documents", &["domain", "ports", "http_clients"]),
    Layer::new(
        "home_client",
        &["domain", "ports", "http_clients", "local_bus"],
    ),
    Layer::new("http_server", &[]),
    Layer {
        package: "agent-service",
        may_use: &[
            "domain",
            "ports",
            "writes",
            "application",
            "access",
            "cpu_pool",
            "http_server",
        ],
        may_wire: &[
            "postgres_store",
            "sqlite_store",
            "rule_engine",
            "llm_engine",
            "built_in_tools",
            "mcp_tools",
            "local_limiter",
            "local_bus",
            "postgres_bus",
            "postgres_limiter",
            "redis_adapter",
            "web_documents",
            "home_client",
        ],
    },
    // Developer tools, which use the service as a process, from outside.
    Layer::new("dev_tools", &[]),
    Layer::new("dev_load", &["dev_tools"]),
    Layer::new("dev_bench", &["dev_tools", "dev_load"]),
    Layer::new("dev_faults", &["dev_tools", "dev_load"]),
    Layer::new("dev_regions", &["dev_tools", "dev_load"]),
    Layer::new("xtask", &["dev_tools"]),
];

/// The module of a crate's wiring: a file of its sources, or a folder.
pub(super) const WIRING: &str = "wiring";

/// Third-party crates, by the first words of their names, and the crates that may use them.
const HOMES: &[(&str, &[&str])] = &[
    (
        "sqlx",
        &[
            "relational",
            "postgres_store",
            "sqlite_store",
            "postgres_bus",
            "postgres_limiter",
            "dev_bench",
        ],
    ),
    ("redis", &["redis_adapter"]),
    ("actix", &["agent-service", "http_server", "dev_bench"]),
    ("jsonwebtoken", &["access", "dev_bench"]),
    ("config", &["agent-service"]),
    ("metrics-exporter", &["agent-service"]),
    ("tracing-subscriber", &["agent-service"]),
    ("governor", &["local_limiter", "agent-service"]),
    (
        "reqwest",
        &[
            "http_clients",
            "web_documents",
            "llm_engine",
            "mcp_tools",
            "dev_load",
            "dev_bench",
        ],
    ),
    ("hyper", &["home_client"]),
    ("rmcp", &["mcp_tools"]),
    // The domain and the ports are synchronous or traits alone; use cases and adapters need a
    // runtime.
    (
        "tokio",
        &[
            "writes",
            "application",
            "access",
            "contract",
            "cpu_pool",
            "http_clients",
            "relational",
            "postgres_store",
            "sqlite_store",
            "rule_engine",
            "llm_engine",
            "scripted_engine",
            "mcp_tools",
            "local_limiter",
            "local_bus",
            "postgres_bus",
            "postgres_limiter",
            "redis_adapter",
            "web_documents",
            "home_client",
            "http_server",
            "agent-service",
            "dev_load",
            "dev_bench",
            "dev_faults",
            "dev_regions",
        ],
    ),
];

/// The rules for a crate of the workspace, if the table contains it.
pub(super) fn layer(package: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.package == package)
}

/// Returns true if `user` may depend on a package, `in_wiring` or elsewhere.
pub(super) fn allows(user: &Layer, dependency: &str, in_wiring: bool) -> bool {
    if layer(dependency).is_some() {
        return dependency == user.package
            || user.may_use.contains(&dependency)
            || (in_wiring && user.may_wire.contains(&dependency));
    }
    let homes = HOMES
        .iter()
        .filter(|(prefix, _)| begins_with(dependency, prefix));
    homes
        .into_iter()
        .all(|(_, homes)| homes.contains(&user.package))
}

/// Returns true if the first words of a crate's name are those of `prefix`: `sqlx-core` matches
/// `sqlx`, but `configparser` does not match `config`.
fn begins_with(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests;
