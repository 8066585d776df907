//! The weight of caches in bytes, and its metric.

use quick_cache::{Options, OptionsBuilder};

/// The number of cache parts with a lock of their own. No part can hold an entry that is heavier
/// than the part, so the number does not depend on the number of processors.
const SHARDS: usize = 16;

/// Returns the options of a cache that holds at most `bytes`, with about `entries` expected
/// entries.
pub fn bounded(bytes: u64, entries: usize) -> Options {
    OptionsBuilder::new()
        .shards(SHARDS)
        .estimated_items_capacity(entries)
        .weight_capacity(bytes)
        .build()
        .unwrap_or_else(|_| unreachable!("both capacities are set"))
}

/// Sets the metric of the weight of a cache.
pub fn report(cache: &'static str, bytes: u64) {
    let bytes = u32::try_from(bytes).map_or(f64::MAX, f64::from);
    metrics::gauge!("cache_bytes", "cache" => cache).set(bytes);
}
