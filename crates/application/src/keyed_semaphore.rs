//! A semaphore for each key.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A semaphore for each key, granted in order of arrival. Keys that are not in use take no memory.
#[derive(Debug)]
pub struct KeyedSemaphore<K> {
    permits: usize,
    semaphores: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Eq + Hash> KeyedSemaphore<K> {
    /// Creates semaphores with this number of permits for each key.
    pub fn new(permits: usize) -> Self {
        Self {
            permits,
            semaphores: Mutex::default(),
        }
    }

    /// Waits until the key has a permit left.
    pub async fn acquire(&self, key: K) -> OwnedSemaphorePermit {
        let permit = self.find_or_create(key).acquire_owned().await;
        permit.unwrap_or_else(|_closed| unreachable!("the semaphores are never closed"))
    }

    fn find_or_create(&self, key: K) -> Arc<Semaphore> {
        let mut semaphores = self.semaphores.lock();
        semaphores.retain(|_, semaphore| semaphore.strong_count() > 0);
        if let Some(semaphore) = semaphores.get(&key).and_then(Weak::upgrade) {
            return semaphore;
        }
        let semaphore = Arc::new(Semaphore::new(self.permits));
        semaphores.insert(key, Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn each_key_has_its_own_permits() {
        let semaphores = KeyedSemaphore::new(2);
        let first = semaphores.acquire("a").await;
        let _second = semaphores.acquire("a").await;
        let mut third = Box::pin(semaphores.acquire("a"));
        assert!(third.as_mut().now_or_never().is_none());
        assert!(semaphores.acquire("b").now_or_never().is_some());
        drop(first);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn unused_keys_are_removed() {
        let semaphores = KeyedSemaphore::new(1);
        for key in 0..10 {
            drop(semaphores.acquire(key).await);
        }
        let _held = semaphores.acquire(10).await;
        assert_eq!(semaphores.semaphores.lock().len(), 1);
    }
}
