//! Mutual exclusion by key.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::OwnedMutexGuard;

/// A lock for each key, granted in order of arrival. Keys that are not in use take no memory.
pub(crate) struct KeyedLock<K> {
    locks: Mutex<HashMap<K, Weak<tokio::sync::Mutex<()>>>>,
}

impl<K> Default for KeyedLock<K> {
    fn default() -> Self {
        Self {
            locks: Mutex::default(),
        }
    }
}

impl<K: Eq + Hash> KeyedLock<K> {
    /// Waits until no other guard of this key exists.
    pub(crate) async fn lock(&self, key: K) -> OwnedMutexGuard<()> {
        let lock = self.find(key);
        lock.lock_owned().await
    }

    fn find(&self, key: K) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = locks.get(&key).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        locks.insert(key, Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_key_has_one_guard_at_a_time_and_others_are_free() {
        let locks = KeyedLock::default();
        let first = locks.lock("a").await;
        let mut second = Box::pin(locks.lock("a"));
        assert!(second.as_mut().now_or_never().is_none());
        let other = locks.lock("b").now_or_never();
        assert!(other.is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
    }

    #[tokio::test]
    async fn keys_without_guards_are_forgotten() {
        let locks = KeyedLock::default();
        for key in 0..10 {
            drop(locks.lock(key).await);
        }
        let _held = locks.lock(10).await;
        assert_eq!(locks.locks.lock().unwrap().len(), 1);
    }
}
