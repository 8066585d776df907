//! No promise is forgotten: what is written is listed, and what is listed is written.

use std::collections::BTreeSet;

/// Names every promise beside the source of its file.
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

const LISTS: [&[Listed]; 2] = [
    crate::storage_promises! { promise_sources },
    crate::turn_promises! { promise_sources },
];

fn listed() -> impl Iterator<Item = &'static Listed> {
    LISTS.into_iter().flatten()
}

fn written(source: &'static str) -> impl Iterator<Item = &'static str> {
    source
        .lines()
        .filter_map(|line| line.strip_prefix("pub async fn "))
        .filter_map(|line| line.split_once(['(', '<']).map(|(name, _)| name))
}

#[test]
fn every_promise_that_is_written_is_listed_once() {
    for (module, source, listed) in listed() {
        let listed_names: BTreeSet<_> = listed.iter().copied().collect();
        assert_eq!(listed_names.len(), listed.len(), "a name twice in {module}");
        assert_eq!(listed_names, written(source).collect(), "in {module}");
    }
}

/// The files of ports outside a store: their macros list them by hand.
const BESIDE_STORES: &[(&str, &str, &str)] = &[
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
        "rate_limiter",
        include_str!("rate_limiter.rs"),
        include_str!("rate_limiter.rs"),
    ),
    (
        "stream_slots",
        include_str!("stream_slots.rs"),
        include_str!("rate_limiter.rs"),
    ),
    (
        "tool_provider",
        include_str!("tool_provider.rs"),
        include_str!("tool_provider.rs"),
    ),
];

#[test]
fn every_promise_beside_stores_is_listed_once() {
    for (module, source, list) in BESIDE_STORES {
        for name in written(source) {
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
        .filter(|module| *module != "samples");
    let beside_stores = BESIDE_STORES.iter().map(|(module, ..)| *module);
    let listed = listed().map(|(module, ..)| *module);
    assert_eq!(
        public.collect::<BTreeSet<_>>(),
        listed.chain(beside_stores).collect()
    );
}
