//! The allowed dependencies. This table is the architecture: change it only on purpose.

/// The crates of use cases, from the inside out.
const CORE: &[&str] = &["domain", "ports", "writes", "application", "access"];
/// The crates that adapters use.
const PORTS: &[&str] = &["domain", "ports"];
/// The surfaces of the HTTP interface, and what they share.
const HTTP: &[&str] = &[
    "server",
    "kit",
    "regions",
    "socket",
    "protocols",
    "rest",
    "documents",
];
/// The adapters.
const ADAPTERS: &[&str] = &[
    "postgres_store",
    "sqlite_store",
    "blob_store",
    "rule_engine",
    "llm_engine",
    "built_in_tools",
    "mcp_tools",
    "single_node",
    "postgres_nodes",
    "redis_nodes",
    "web_documents",
    "home_client",
    "json_schemas",
    "clamd_scanner",
];

/// The crates of the workspace from the inside out, each with the groups of crates that it may use.
/// No crate may use `contract` or `scripted_engine` except in its tests. Only `api` may
/// use adapters.
const LAYERS: &[(&str, &[&[&str]])] = &[
    ("domain", &[]),
    ("ports", &[&["domain"]]),
    ("writes", &[PORTS]),
    ("contract", &[PORTS, &["writes"]]),
    ("cpu_pool", &[&["domain"]]),
    ("http_clients", &[]),
    ("application", &[PORTS, &["writes"]]),
    ("access", &[PORTS, &["writes", "application"]]),
    ("relational", &[PORTS]),
    ("postgres_store", &[PORTS, &["relational"]]),
    ("sqlite_store", &[PORTS, &["relational"]]),
    ("blob_store", &[PORTS]),
    ("rule_engine", &[PORTS, &["cpu_pool"]]),
    ("llm_engine", &[PORTS, &["http_clients"]]),
    ("scripted_engine", &[PORTS]),
    ("built_in_tools", &[PORTS]),
    ("mcp_tools", &[PORTS, &["http_clients"]]),
    ("single_node", &[PORTS]),
    ("postgres_nodes", &[PORTS, &["single_node"]]),
    ("redis_nodes", &[PORTS, &["single_node"]]),
    ("web_documents", &[PORTS, &["http_clients"]]),
    ("json_schemas", &[PORTS, &["cpu_pool"]]),
    ("clamd_scanner", &[PORTS]),
    ("home_client", &[PORTS, &["http_clients", "single_node"]]),
    ("server", &[]),
    ("kit", &[CORE, &["cpu_pool", "server"]]),
    ("regions", &[CORE, &["kit", "server"]]),
    ("socket", &[CORE, &["kit", "server", "regions"]]),
    (
        "protocols",
        &[
            CORE,
            &["http_clients", "kit", "server", "regions", "socket"],
        ],
    ),
    ("rest", &[CORE, &["kit", "server"]]),
    (
        "documents",
        &[&["domain", "kit", "regions", "rest", "socket"]],
    ),
    ("api", &[CORE, HTTP, ADAPTERS, &["cpu_pool"]]),
    // Developer tools, which use the service as a process, from outside.
    ("dev_tools", &[]),
    ("dev_load", &[&["dev_tools"]]),
    ("dev_bench", &[&["dev_tools", "dev_load"]]),
    ("dev_faults", &[&["dev_tools", "dev_load"]]),
    ("dev_regions", &[&["dev_tools", "dev_load"]]),
    ("xtask", &[&["dev_tools"]]),
];

/// Third-party crates, by the first words of their names, and the crates that may use them.
const HOMES: &[(&str, &[&str])] = &[
    (
        "sqlx",
        &[
            "relational",
            "postgres_store",
            "sqlite_store",
            "postgres_nodes",
            "dev_bench",
        ],
    ),
    ("redis", &["redis_nodes"]),
    ("object_store", &["blob_store"]),
    (
        "actix",
        &[
            "server",
            "kit",
            "regions",
            "socket",
            "protocols",
            "rest",
            "documents",
            "api",
            "dev_bench",
        ],
    ),
    ("jsonwebtoken", &["access", "dev_bench"]),
    ("config", &["api"]),
    ("metrics-exporter", &["api"]),
    ("tracing-subscriber", &["api"]),
    ("governor", &["single_node", "kit"]),
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
    ("clamav-client", &["clamd_scanner"]),
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
            "blob_store",
            "rule_engine",
            "llm_engine",
            "scripted_engine",
            "mcp_tools",
            "single_node",
            "postgres_nodes",
            "redis_nodes",
            "web_documents",
            "home_client",
            "json_schemas",
            "clamd_scanner",
            "server",
            "kit",
            "regions",
            "socket",
            "protocols",
            "rest",
            "api",
            "dev_load",
            "dev_bench",
            "dev_faults",
            "dev_regions",
        ],
    ),
];

/// Returns true if the table contains a crate of the workspace.
pub(super) fn contains(package: &str) -> bool {
    groups_of(package).is_some()
}

fn groups_of(package: &str) -> Option<&'static [&'static [&'static str]]> {
    let mut layers = LAYERS.iter();
    layers.find(|it| it.0 == package).map(|it| it.1)
}

/// Returns true if `user` may depend on a package.
pub(super) fn allows(user: &str, dependency: &str) -> bool {
    if contains(dependency) {
        let groups = groups_of(user).unwrap_or_default();
        return groups.iter().any(|group| group.contains(&dependency));
    }
    let homes = HOMES
        .iter()
        .filter(|(prefix, _)| begins_with(dependency, prefix));
    homes.into_iter().all(|(_, homes)| homes.contains(&user))
}

/// Returns true if the first words of a crate's name are those of `prefix`: `sqlx-core` matches
/// `sqlx`, but `configparser` does not match `config`.
fn begins_with(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests;
