//! Tests that every promise is listed, and that every listed promise exists.

use std::collections::BTreeSet;

/// Expands to the names of all promises, with the source of their files.
#[macro_export]
macro_rules! promise_sources {
    ([] $($module:ident { $($promise:ident,)* })*) => {
        &[$((
            stringify!($module),
            include_str!(concat!(stringify!($module), ".rs")),
            &[$(stringify!($promise)),*],
        )),*]
    };
}

type Listed = (&'static str, &'static str, &'static [&'static str]);

const LISTS: [&[Listed]; 4] = [
    crate::storage_promises! { promise_sources },
    crate::access_promises! { promise_sources },
    crate::conversation_promises! { promise_sources },
    crate::turn_promises! { promise_sources },
];

fn listed() -> impl Iterator<Item = &'static Listed> {
    LISTS.into_iter().flatten()
}

fn promises_in(source: &'static str) -> impl Iterator<Item = &'static str> {
    source
        .lines()
        .filter_map(|line| line.strip_prefix("pub async fn "))
        .filter_map(|line| line.split_once(['(', '<']).map(|(name, _)| name))
}

#[test]
fn every_promise_is_listed_once() {
    for (module, source, listed) in listed() {
        let listed_names: BTreeSet<_> = listed.iter().copied().collect();
        assert_eq!(
            listed_names.len(),
            listed.len(),
            "a duplicate name in {module}"
        );
        assert_eq!(listed_names, promises_in(source).collect(), "in {module}");
    }
}

/// The files of ports outside a store, and of stores that a newer version shares, whose macros list
/// the promises by hand.
const OTHER_PORTS: &[(&str, &str, &str)] = &[
    (
        "newer_version",
        include_str!("newer_version.rs"),
        include_str!("newer_version.rs"),
    ),
    (
        "blob_store",
        include_str!("blob_store.rs"),
        include_str!("blob_store.rs"),
    ),
    (
        "blob_uploads",
        include_str!("blob_uploads.rs"),
        include_str!("blob_store.rs"),
    ),
    (
        "reply_engine",
        include_str!("reply_engine.rs"),
        include_str!("reply_engine.rs"),
    ),
    (
        "event_bus",
        include_str!("event_bus.rs"),
        include_str!("event_bus.rs"),
    ),
    (
        "shared_event_bus",
        include_str!("shared_event_bus.rs"),
        include_str!("shared_event_bus.rs"),
    ),
    (
        "rate_limiter",
        include_str!("rate_limiter.rs"),
        include_str!("rate_limiter.rs"),
    ),
    (
        "rate_limiter_quotas",
        include_str!("rate_limiter_quotas.rs"),
        include_str!("rate_limiter.rs"),
    ),
    (
        "stream_slots",
        include_str!("stream_slots.rs"),
        include_str!("rate_limiter.rs"),
    ),
    (
        "shared_rate_limiter",
        include_str!("shared_rate_limiter.rs"),
        include_str!("shared_rate_limiter.rs"),
    ),
    (
        "shared_limiter_faults",
        include_str!("shared_limiter_faults.rs"),
        include_str!("shared_rate_limiter.rs"),
    ),
    (
        "shared_stream_slots",
        include_str!("shared_stream_slots.rs"),
        include_str!("shared_rate_limiter.rs"),
    ),
    (
        "tool_provider",
        include_str!("tool_provider.rs"),
        include_str!("tool_provider.rs"),
    ),
];

#[test]
fn every_promise_of_another_port_is_listed_once() {
    for (module, source, list) in OTHER_PORTS {
        for name in promises_in(source) {
            let listed = list
                .lines()
                .filter(|line| line.trim() == format!("{name},"));
            assert_eq!(listed.count(), 1, "{name} in {module}");
        }
    }
}

#[test]
fn every_file_of_promises_is_listed() {
    let public = include_str!("lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .filter(|module| *module != "fixture");
    let other_ports = OTHER_PORTS.iter().map(|(module, ..)| *module);
    let listed = listed().map(|(module, ..)| *module);
    assert_eq!(
        public.collect::<BTreeSet<_>>(),
        listed.chain(other_ports).collect()
    );
}
