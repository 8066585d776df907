//! What may depend on what. This table is the architecture: change it only on purpose.

/// One of our crates, and which of the others it may use.
pub(super) struct Layer {
    pub(super) package: &'static str,
    pub(super) may_use: &'static [&'static str],
    /// What only its wiring may name.
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
    Layer::new("contract", &["domain", "ports"]),
    Layer::new("cpu_pool", &["domain"]),
    Layer::new("application", &["domain", "ports"]),
    Layer::new("relational", &["domain", "ports"]),
    Layer::new("postgres_store", &["domain", "ports", "relational"]),
    Layer::new("sqlite_store", &["domain", "ports", "relational"]),
    Layer::new("rule_engine", &["domain", "ports", "cpu_pool"]),
    Layer::new("llm_engine", &["domain", "ports"]),
    Layer::new("scripted_engine", &["domain", "ports"]),
    Layer::new("built_in_tools", &["domain", "ports"]),
    Layer::new("mcp_tools", &["domain", "ports"]),
    Layer::new("local_limiter", &["domain", "ports"]),
    Layer::new("local_bus", &["domain", "ports"]),
    Layer::new("web_documents", &["domain", "ports"]),
    Layer {
        package: "agent-service",
        may_use: &["domain", "ports", "application", "cpu_pool"],
        may_wire: &[
            "postgres_store",
            "sqlite_store",
            "rule_engine",
            "llm_engine",
            "built_in_tools",
            "mcp_tools",
            "local_limiter",
            "local_bus",
            "web_documents",
        ],
    },
    Layer::new("xtask", &[]),
];

/// The wiring of a crate: this file of its sources, or all below the folder of this name.
pub(super) const WIRING: &str = "wiring";

/// Crates of others that belong to a layer: those whose name begins so, and who may use them.
const HOMES: &[(&str, &[&str])] = &[
    ("sqlx", &["postgres_store", "sqlite_store"]),
    ("actix", &["agent-service"]),
    ("jsonwebtoken", &["application", "xtask"]),
    ("config", &["agent-service"]),
    ("metrics-exporter", &["agent-service"]),
    ("tracing-subscriber", &["agent-service"]),
    ("governor", &["local_limiter", "agent-service"]),
    (
        "reqwest",
        &["web_documents", "llm_engine", "mcp_tools", "xtask"],
    ),
    ("rmcp", &["mcp_tools"]),
    // The inside waits for nothing: what does is a port's implementation or a use case.
    (
        "tokio",
        &[
            "application",
            "contract",
            "cpu_pool",
            "relational",
            "postgres_store",
            "sqlite_store",
            "rule_engine",
            "llm_engine",
            "scripted_engine",
            "mcp_tools",
            "local_limiter",
            "local_bus",
            "web_documents",
            "agent-service",
            "xtask",
        ],
    ),
];

/// The rules for one of our crates, if the table knows it.
pub(super) fn layer(package: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.package == package)
}

/// Whether `user` may depend on a package; `in_wiring` is whether it does so where things are put
/// together.
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

/// Whether the words of a crate's name begin with those of `prefix`: `sqlx-core` with `sqlx`, but
/// `configparser` not with `config`.
fn begins_with(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADAPTERS: &[&str] = &[
        "postgres_store",
        "sqlite_store",
        "rule_engine",
        "built_in_tools",
        "mcp_tools",
        "llm_engine",
        "scripted_engine",
        "local_limiter",
        "local_bus",
        "web_documents",
    ];

    #[track_caller]
    fn allowed(user: &str, dependency: &str) -> bool {
        allows(layer(user).unwrap(), dependency, false)
    }

    #[test]
    fn the_domain_uses_nobody() {
        for other in LAYERS.iter().filter(|layer| layer.package != "domain") {
            assert!(
                !allowed("domain", other.package),
                "domain → {}",
                other.package
            );
        }
    }

    #[test]
    fn ports_do_not_know_their_users() {
        assert!(allowed("ports", "domain"));
        assert!(!allowed("ports", "application"));
        assert!(!allowed("ports", "relational"));
    }

    #[test]
    fn use_cases_do_not_know_adapters_nor_http() {
        for forbidden in ADAPTERS.iter().chain(&["agent-service"]) {
            assert!(
                !allowed("application", forbidden),
                "application → {forbidden}"
            );
        }
        assert!(!allowed("application", "actix-web"));
        assert!(!allowed("application", "sqlx"));
    }

    #[test]
    fn adapters_do_not_know_use_cases_nor_each_other() {
        for adapter in ADAPTERS {
            assert!(!allowed(adapter, "application"), "{adapter} → application");
            assert!(
                !allowed(adapter, "agent-service"),
                "{adapter} → agent-service"
            );
        }
        assert!(!allowed("postgres_store", "sqlite_store"));
        assert!(!allowed("rule_engine", "relational"));
        assert!(!allowed("local_limiter", "web_documents"));
    }

    #[test]
    fn only_stores_know_sql() {
        assert!(allowed("sqlite_store", "sqlx"));
        for layer in LAYERS
            .iter()
            .filter(|layer| !layer.package.ends_with("_store"))
        {
            assert!(!allows(layer, "sqlx", true), "{} → sqlx", layer.package);
            assert!(
                !allows(layer, "sqlx-core", true),
                "{} → sqlx-core",
                layer.package
            );
        }
    }

    #[test]
    fn only_the_api_knows_http() {
        assert!(allowed("agent-service", "actix-web"));
        for layer in LAYERS
            .iter()
            .filter(|layer| layer.package != "agent-service")
        {
            assert!(
                !allows(layer, "actix-ws", true),
                "{} → actix-ws",
                layer.package
            );
        }
    }

    #[test]
    fn the_inside_waits_for_nothing() {
        assert!(!allowed("domain", "tokio"));
        assert!(!allowed("ports", "tokio-util"));
    }

    #[test]
    fn nobody_ships_what_is_for_tests_or_the_developer_commands() {
        for layer in LAYERS {
            for tool in ["contract", "scripted_engine", "xtask"]
                .iter()
                .filter(|tool| **tool != layer.package)
            {
                assert!(!allows(layer, tool, true), "{} → {tool}", layer.package);
            }
        }
    }

    #[test]
    fn adapters_are_named_in_the_wiring_alone() {
        let api = layer("agent-service").unwrap();
        assert!(allows(api, "postgres_store", true));
        assert!(!allows(api, "postgres_store", false));
    }

    #[test]
    fn a_name_that_only_looks_alike_is_free() {
        assert!(allowed("domain", "serde"));
        assert!(allowed("domain", "configparser"));
    }
}
