use super::*;

fn packages() -> impl Iterator<Item = &'static str> {
    LAYERS.iter().map(|(package, _)| *package)
}

fn users_of(dependency: &str) -> Vec<&'static str> {
    packages().filter(|user| allows(user, dependency)).collect()
}

#[test]
fn crates_use_only_those_further_inside() {
    for (index, (user, groups)) in LAYERS.iter().enumerate() {
        let inside: Vec<_> = packages().take(index).collect();
        for used in groups.iter().copied().flatten() {
            assert!(inside.contains(used), "{user} → {used}");
        }
    }
}

#[test]
fn adapters_are_used_by_the_binary_alone() {
    for adapter in ADAPTERS {
        let users = users_of(adapter);
        let others = users.iter().filter(|user| !ADAPTERS.contains(user));
        assert!(others.eq(&["api"]), "{adapter} ← {users:?}");
    }
}

#[test]
fn tools_and_the_service_do_not_use_each_other() {
    let is_tool = |package: &str| package == "xtask" || package.starts_with("dev_");
    for user in packages() {
        for other in packages().filter(|other| is_tool(other) != is_tool(user)) {
            assert!(!(is_tool(user) || is_tool(other)) || !allows(user, other));
        }
        for for_tests in ["contract", "scripted_engine"] {
            assert!(!allows(user, for_tests), "{user} → {for_tests}");
        }
    }
}

#[test]
fn only_the_homes_of_a_crate_use_it() {
    assert!(
        users_of("sqlx-core")
            .iter()
            .all(|user| users_of("sqlx").contains(user))
    );
    assert!(!users_of("sqlx").contains(&"application"));
    assert!(!users_of("actix-web").contains(&"access"));
    assert!(!users_of("tokio").contains(&"domain"));
}

#[test]
fn a_similar_name_is_free() {
    assert!(allows("domain", "serde") && allows("domain", "configparser"));
}
