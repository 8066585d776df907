//! Locks on conversations, granted in order of arrival.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use domain::{ConversationId, TenantId, admission::MAX_QUEUED_TURNS};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::command::OnBusy;

/// A conversation, in its tenant.
pub(super) type LockKey = (TenantId, ConversationId);

/// A lock for each conversation of this process, granted in order of arrival.
#[derive(Default)]
pub(super) struct ConversationLocks {
    entries: Arc<Mutex<HashMap<LockKey, LockEntry>>>,
}

/// The lock of a conversation, the number of its outages, and the registration of a user.
type Registration = (Arc<Semaphore>, Arc<AtomicU64>, LockUser);

struct LockEntry {
    semaphore: Arc<Semaphore>,
    /// The number of turns that could not be stored.
    outages: Arc<AtomicU64>,
    /// The number of holders and waiters; the entry is removed with the last of them.
    users: u32,
}

/// A lock on a conversation, until it is dropped.
pub(super) struct ConversationLock {
    /// True if the holder had to wait for it.
    pub(super) waited: bool,
    /// True if an earlier turn could not be stored meanwhile. The holder should then fail at once:
    /// otherwise, the time-outs of all waiters would add up.
    pub(super) met_outage: bool,
    outages: Arc<AtomicU64>,
    _permit: OwnedSemaphorePermit,
    _user: LockUser,
}

impl ConversationLock {
    /// Reports to the waiters that the store is unavailable.
    pub(super) fn record_outage(&self) {
        self.outages.fetch_add(1, Ordering::Relaxed);
    }
}

struct LockUser {
    entries: Arc<Mutex<HashMap<LockKey, LockEntry>>>,
    key: LockKey,
}

impl Drop for LockUser {
    fn drop(&mut self) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get_mut(&self.key) {
            entry.users -= 1;
            if entry.users == 0 {
                entries.remove(&self.key);
            }
        }
    }
}

impl ConversationLocks {
    /// Waits for the lock. Returns `None` if it is held and `on_busy` rejects, or if too many
    /// callers are waiting.
    pub(super) async fn lock(&self, key: LockKey, on_busy: OnBusy) -> Option<ConversationLock> {
        let (semaphore, outages, user) = self.register(key, on_busy)?;
        let waited = semaphore.available_permits() == 0;
        let outages_before = outages.load(Ordering::Relaxed);
        let permit = semaphore.acquire_owned().await.ok()?;
        Some(ConversationLock {
            waited,
            met_outage: outages.load(Ordering::Relaxed) != outages_before,
            outages,
            _permit: permit,
            _user: user,
        })
    }

    fn register(&self, key: LockKey, on_busy: OnBusy) -> Option<Registration> {
        let mut entries = self.entries.lock();
        let entry = entries.entry(key.clone()).or_insert_with(|| LockEntry {
            semaphore: Arc::new(Semaphore::new(1)),
            outages: Arc::default(),
            users: 0,
        });
        let max_users = match on_busy {
            OnBusy::Queue => 1 + MAX_QUEUED_TURNS,
            OnBusy::Reject => 1,
        };
        if entry.users >= max_users {
            return None;
        }
        entry.users += 1;
        let user = LockUser {
            entries: Arc::clone(&self.entries),
            key,
        };
        Some((
            Arc::clone(&entry.semaphore),
            Arc::clone(&entry.outages),
            user,
        ))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn key() -> LockKey {
        let id = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";
        ("default".parse().unwrap(), id.parse().unwrap())
    }

    #[tokio::test]
    async fn the_lock_is_granted_in_order_of_arrival() {
        let locks = ConversationLocks::default();
        let key = key();
        let first = locks.lock(key.clone(), OnBusy::Reject).await.unwrap();
        assert!(locks.lock(key.clone(), OnBusy::Reject).await.is_none());
        let mut second = Box::pin(locks.lock(key.clone(), OnBusy::Queue));
        assert!(second.as_mut().now_or_never().is_none());
        let mut third = Box::pin(locks.lock(key.clone(), OnBusy::Queue));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.now_or_never().flatten().unwrap();
        drop(second);
        drop(third.now_or_never().flatten().unwrap());
        assert!(locks.entries.lock().is_empty());
    }

    #[tokio::test]
    async fn an_outage_is_reported_to_the_waiters() {
        let locks = ConversationLocks::default();
        let first = locks.lock(key(), OnBusy::Queue).await.unwrap();
        let mut second = Box::pin(locks.lock(key(), OnBusy::Queue));
        assert!(second.as_mut().now_or_never().is_none());
        first.record_outage();
        drop(first);
        let second = second.await.unwrap();
        assert!(second.waited && second.met_outage);
        drop(second);
        assert!(!locks.lock(key(), OnBusy::Queue).await.unwrap().met_outage);
    }

    #[tokio::test]
    async fn at_most_sixteen_wait() {
        let locks = ConversationLocks::default();
        let key = key();
        let _running = locks.lock(key.clone(), OnBusy::Queue).await.unwrap();
        let mut waiting: Vec<_> = (0..16)
            .map(|_| Box::pin(locks.lock(key.clone(), OnBusy::Queue)))
            .collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        assert!(locks.lock(key.clone(), OnBusy::Queue).await.is_none());
        waiting.pop();
        assert!(
            locks
                .lock(key.clone(), OnBusy::Queue)
                .now_or_never()
                .is_none()
        );
    }
}
