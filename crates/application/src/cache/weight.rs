//! The weight of caches in bytes, and its metric.

use quick_cache::{Options, OptionsBuilder};

/// Parts of a cache that are locked on their own. None holds an entry heavier than itself, so
/// their number does not follow that of the processors.
const SHARDS: usize = 16;

/// Options of a cache that holds `bytes`, usually in about so many `entries`.
pub(crate) fn bounded(bytes: u64, entries: usize) -> Options {
    OptionsBuilder::new()
        .shards(SHARDS)
        .estimated_items_capacity(entries)
        .weight_capacity(bytes)
        .build()
        .unwrap_or_else(|_| unreachable!("both capacities are set"))
}

/// Publishes the weight of a cache.
pub(crate) fn report(cache: &'static str, bytes: u64) {
    let bytes = u32::try_from(bytes).map_or(f64::MAX, f64::from);
    metrics::gauge!("cache_bytes", "cache" => cache).set(bytes);
}
