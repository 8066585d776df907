//! A bounded cache whose entries carry the log position that they reflect.

use std::{
    hash::{BuildHasher, Hash, RandomState},
    sync::Arc,
};

use domain::{MemorySize, Seq};
use parking_lot::{Mutex, MutexGuard};
use quick_cache::{
    DefaultHashBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};

use super::weight::bounded;

/// The number of key stripes. Invalidations are counted per stripe, so that their memory does not
/// grow with the keys.
const STRIPES: usize = 256;

#[derive(Clone)]
struct Entry<V> {
    /// `None` if the key is only known to have changed at `position`.
    value: Option<V>,
    position: Seq,
}

#[derive(Clone)]
struct ByBytes;

impl<K, V: MemorySize> Weighter<K, Entry<Arc<V>>> for ByBytes {
    fn weight(&self, _key: &K, entry: &Entry<Arc<V>>) -> u64 {
        let value = entry.value.as_ref().map_or(0, |value| value.memory_bytes());
        (size_of::<K>() + size_of::<Entry<Arc<V>>>() + value) as u64
    }
}

/// A cache with a maximum size in bytes, whose entries carry the log position that they reflect.
pub struct VersionedCache<K, V> {
    entries: Cache<K, Entry<Arc<V>>, ByBytes>,
    hasher: RandomState,
    generations: Box<[Mutex<u64>]>,
}

/// The state of a key before a load. The load fills the cache only if its key was not invalidated
/// meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    stripe: usize,
    generation: u64,
}

impl<K: Eq + Hash + Clone, V: MemorySize> VersionedCache<K, V> {
    /// Creates a cache of at most `bytes`, with about `entries` expected entries.
    pub fn new(bytes: u64, entries: usize) -> Self {
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        Self {
            entries: Cache::with_options(bounded(bytes, entries), ByBytes, hasher, lifecycle),
            hasher: RandomState::new(),
            generations: (0..STRIPES).map(|_| Mutex::new(0)).collect(),
        }
    }

    /// Returns the size of all entries, in bytes.
    pub fn weight(&self) -> u64 {
        self.entries.weight()
    }

    /// Returns the value and the position that it reflects.
    pub fn get(&self, key: &K) -> Option<(Arc<V>, Seq)> {
        let entry = self.entries.get(key)?;
        Some((entry.value?, entry.position))
    }

    /// Returns the state of `key` for a load. It must be called before the load begins.
    pub fn begin_load(&self, key: &K) -> Load {
        let stripe = self.stripe(key);
        Load {
            stripe,
            generation: *self.lock(stripe),
        }
    }

    /// Inserts a value that was loaded at `position`, unless the key was invalidated since the load
    /// began or is known to have changed later.
    pub fn fill(&self, load: Load, key: K, value: Arc<V>, position: Seq) {
        let generation = self.lock(load.stripe);
        if *generation == load.generation && !self.has_changed_after(&key, position) {
            self.insert(key, Some(value), position);
        }
    }

    /// Inserts a value that this process has written at `position`, unless a later change is known.
    pub fn replace(&self, key: K, value: Arc<V>, position: Seq) {
        let mut generation = self.lock(self.stripe(&key));
        *generation += 1;
        if !self.has_changed_after(&key, position) {
            self.insert(key, Some(value), position);
        }
    }

    /// Drops the entry at any position.
    pub fn remove(&self, key: &K) {
        let mut generation = self.lock(self.stripe(key));
        *generation += 1;
        self.entries.remove(key);
    }

    /// Drops the entry if it does not reflect the change at `position` yet.
    pub fn remove_older(&self, key: &K, position: Seq) {
        let mut generation = self.lock(self.stripe(key));
        *generation += 1;
        if self
            .entries
            .peek(key)
            .is_some_and(|entry| entry.position < position)
        {
            self.entries.remove(key);
        }
    }

    /// Drops the entry like [`Self::remove_older`], and records the change, so that a write that
    /// was committed before the change but is recorded after it does not restore the old value.
    /// Without this record, the old value would stay cached until the next change of the key.
    pub fn mark_changed(&self, key: K, position: Seq) {
        let mut generation = self.lock(self.stripe(&key));
        *generation += 1;
        if self
            .entries
            .peek(&key)
            .is_none_or(|entry| entry.position < position)
        {
            self.insert(key, None, position);
        }
    }

    /// Drops the entry at any position, and records the change, so that nothing from before it is cached,
    /// neither by a load nor as a value that is computed from the dropped one.
    pub fn overwrite_changed(&self, key: K, position: Seq) {
        let mut generation = self.lock(self.stripe(&key));
        *generation += 1;
        let known = self.entries.peek(&key).map(|entry| entry.position);
        let position = known.map_or(position, |known| known.max(position));
        self.insert(key, None, position);
    }

    /// Inserts a value like [`Self::replace`] that was computed from `base`. If the entry is another one by
    /// now, of which the value knows nothing, both are dropped.
    pub fn replace_computed(&self, key: K, base: &V, value: Arc<V>, position: Seq)
    where
        V: PartialEq,
    {
        let mut generation = self.lock(self.stripe(&key));
        *generation += 1;
        let current = self.entries.peek(&key);
        if current
            .as_ref()
            .is_some_and(|entry| entry.position > position)
        {
            return;
        }
        let is_current = current.and_then(|entry| entry.value).as_deref() == Some(base);
        self.insert(key, is_current.then_some(value), position);
    }

    fn has_changed_after(&self, key: &K, position: Seq) -> bool {
        self.entries
            .peek(key)
            .is_some_and(|entry| entry.position > position)
    }

    fn insert(&self, key: K, value: Option<Arc<V>>, position: Seq) {
        self.entries.insert(key, Entry { value, position });
    }

    fn stripe(&self, key: &K) -> usize {
        usize::try_from(self.hasher.hash_one(key) % STRIPES as u64).unwrap_or(0)
    }

    fn lock(&self, stripe: usize) -> MutexGuard<'_, u64> {
        self.generations[stripe].lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of the given size in bytes.
    #[derive(Debug, PartialEq)]
    struct Sized(usize);

    impl MemorySize for Sized {
        fn memory_bytes(&self) -> usize {
            self.0
        }
    }

    fn cache() -> VersionedCache<&'static str, Sized> {
        VersionedCache::new(100_000, 10)
    }

    fn value(bytes: usize) -> Arc<Sized> {
        Arc::new(Sized(bytes))
    }

    #[test]
    fn a_load_that_began_before_an_invalidation_fills_nothing() {
        let cache = cache();
        let load = cache.begin_load(&"a");
        cache.remove_older(&"a", Seq(5));
        cache.fill(load, "a", value(1), Seq(4));
        assert_eq!(cache.get(&"a"), None);
        cache.fill(cache.begin_load(&"a"), "a", value(2), Seq(5));
        assert_eq!(cache.get(&"a"), Some((value(2), Seq(5))));
    }

    #[test]
    fn a_change_drops_only_older_entries() {
        let cache = cache();
        cache.replace("a", value(1), Seq(5));
        cache.remove_older(&"a", Seq(5));
        assert_eq!(cache.get(&"a"), Some((value(1), Seq(5))));
        cache.remove_older(&"a", Seq(6));
        assert_eq!(cache.get(&"a"), None);
    }

    #[test]
    fn a_write_that_is_recorded_after_a_later_change_is_not_cached() {
        let cache = cache();
        cache.mark_changed("a", Seq(11));
        cache.replace("a", value(1), Seq(10));
        assert_eq!(cache.get(&"a"), None);
        cache.fill(cache.begin_load(&"a"), "a", value(1), Seq(10));
        assert_eq!(cache.get(&"a"), None);
        cache.fill(cache.begin_load(&"a"), "a", value(2), Seq(11));
        assert_eq!(cache.get(&"a"), Some((value(2), Seq(11))));
    }

    #[test]
    fn an_older_write_does_not_replace_a_newer_one() {
        let cache = cache();
        cache.replace("a", value(2), Seq(6));
        cache.replace("a", value(1), Seq(5));
        assert_eq!(cache.get(&"a"), Some((value(2), Seq(6))));
    }

    #[test]
    fn a_value_that_was_computed_before_a_change_is_not_cached_after_it() {
        let cache = cache();
        cache.replace("a", value(1), Seq(5));
        cache.replace_computed("a", &Sized(1), value(2), Seq(6));
        assert_eq!(cache.get(&"a"), Some((value(2), Seq(6))));
        cache.overwrite_changed("a", Seq(7));
        assert_eq!(cache.get(&"a"), None);
        cache.replace_computed("a", &Sized(2), value(3), Seq(8));
        assert_eq!(cache.get(&"a"), None);
        cache.fill(cache.begin_load(&"a"), "a", value(4), Seq(8));
        cache.overwrite_changed("a", Seq(7));
        assert_eq!(
            cache.get(&"a"),
            None,
            "the change may have been applied late"
        );
        cache.fill(cache.begin_load(&"a"), "a", value(4), Seq(7));
        assert_eq!(cache.get(&"a"), None);
        cache.fill(cache.begin_load(&"a"), "a", value(5), Seq(8));
        cache.replace_computed("a", &Sized(5), value(6), Seq(7));
        assert_eq!(cache.get(&"a"), Some((value(5), Seq(8))));
    }

    #[test]
    fn the_weight_stays_within_the_limit() {
        let cache = VersionedCache::new(1_000_000, 100);
        for key in 0..1_000 {
            cache.replace(key, value(20_000), Seq(1));
            assert!(cache.weight() <= 1_000_000);
        }
        assert!(cache.weight() > 500_000, "{}", cache.weight());
        let held = (0..1_000).filter(|key| cache.get(key).is_some()).count();
        assert!((10..=50).contains(&held), "{held}");
    }
}
