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
    "postgres_bus",
    "web_documents",
];

#[track_caller]
fn allowed(user: &str, dependency: &str) -> bool {
    allows(layer(user).unwrap(), dependency, false)
}

#[test]
fn the_domain_uses_no_other_crate() {
    for other in LAYERS.iter().filter(|layer| layer.package != "domain") {
        assert!(
            !allowed("domain", other.package),
            "domain → {}",
            other.package
        );
    }
}

#[test]
fn ports_do_not_use_their_users() {
    assert!(allowed("ports", "domain"));
    assert!(!allowed("ports", "application"));
    assert!(!allowed("ports", "relational"));
}

#[test]
fn use_cases_use_neither_adapters_nor_http() {
    for user in ["application", "access"] {
        let forbidden = ADAPTERS
            .iter()
            .chain(&["agent-service", "actix-web", "sqlx"]);
        for forbidden in forbidden {
            assert!(!allowed(user, forbidden), "{user} → {forbidden}");
        }
    }
}

#[test]
fn only_access_uses_the_other_crate_of_use_cases() {
    assert!(allowed("access", "application"));
    assert!(!allowed("application", "access"));
}

#[test]
fn adapters_use_neither_use_cases_nor_each_other() {
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
fn only_stores_the_bus_and_limiter_of_postgres_and_the_benchmark_use_sql() {
    let stores = [
        "relational",
        "postgres_store",
        "sqlite_store",
        "postgres_bus",
        "postgres_limiter",
        // Compares the service with a program that uses the same libraries.
        "dev_bench",
    ];
    assert!(allowed("sqlite_store", "sqlx"));
    for layer in LAYERS
        .iter()
        .filter(|layer| !stores.contains(&layer.package))
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
fn only_the_api_its_server_and_the_benchmark_use_http() {
    assert!(allowed("agent-service", "actix-web"));
    let http = ["agent-service", "http_server", "dev_bench"];
    for layer in LAYERS.iter().filter(|layer| !http.contains(&layer.package)) {
        assert!(
            !allows(layer, "actix-ws", true),
            "{} → actix-ws",
            layer.package
        );
    }
}

#[test]
fn domain_and_ports_need_no_runtime() {
    assert!(!allowed("domain", "tokio"));
    assert!(!allowed("ports", "tokio-util"));
}

#[test]
fn no_crate_of_the_service_uses_crates_for_tests_or_developers() {
    let is_tool = |package: &str| package == "xtask" || package.starts_with("dev_");
    let tools = || LAYERS.iter().filter(|layer| is_tool(layer.package));
    for layer in LAYERS.iter().filter(|layer| !is_tool(layer.package)) {
        for tool in ["contract", "scripted_engine"]
            .into_iter()
            .filter(|tool| *tool != layer.package)
            .chain(tools().map(|tool| tool.package))
        {
            assert!(!allows(layer, tool, true), "{} → {tool}", layer.package);
        }
    }
}

#[test]
fn developer_tools_use_no_crate_of_the_service() {
    let tools = ["xtask", "dev_tools", "dev_load", "dev_bench", "dev_faults"];
    for tool in tools.map(|tool| layer(tool).unwrap()) {
        for other in LAYERS.iter().filter(|it| !tools.contains(&it.package)) {
            let name = tool.package;
            assert!(
                !allows(tool, other.package, true),
                "{name} → {}",
                other.package
            );
        }
    }
}

#[test]
fn adapters_are_used_in_the_wiring_alone() {
    let api = layer("agent-service").unwrap();
    assert!(allows(api, "postgres_store", true));
    assert!(!allows(api, "postgres_store", false));
}

#[test]
fn a_similar_name_is_free() {
    assert!(allowed("domain", "serde"));
    assert!(allowed("domain", "configparser"));
}
