//! One turn at a time in a conversation, in order of arrival.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use domain::{ConversationId, TenantId, sizes::WAITING_TURNS};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::command::OnBusy;

/// A conversation, in its tenant.
pub(super) type LaneKey = (TenantId, ConversationId);

/// One turn at a time in each conversation of this process, in order of arrival.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: Arc<Mutex<HashMap<LaneKey, Lane>>>,
}

/// The lane's turns, its outages, and a place among its users.
type Joined = (Arc<Semaphore>, Arc<AtomicU64>, LaneUser);

struct Lane {
    turns: Arc<Semaphore>,
    /// How often a turn met an absent store.
    outages: Arc<AtomicU64>,
    /// Who holds or awaits the lane; it is forgotten with the last of them.
    users: u32,
}

/// The right to run a turn in a conversation.
pub(super) struct LaneGuard {
    /// Whether another turn was in the conversation before.
    pub(super) waited: bool,
    /// Whether a turn met an absent store while this one waited: then it need not try, or the
    /// refusals of all that wait would add up.
    pub(super) met_outage: bool,
    outages: Arc<AtomicU64>,
    _permit: OwnedSemaphorePermit,
    _user: LaneUser,
}

impl LaneGuard {
    /// Tells those who wait that the store is away.
    pub(super) fn note_outage(&self) {
        self.outages.fetch_add(1, Ordering::Relaxed);
    }
}

struct LaneUser {
    lanes: Arc<Mutex<HashMap<LaneKey, Lane>>>,
    key: LaneKey,
}

impl Drop for LaneUser {
    fn drop(&mut self) {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get_mut(&self.key) {
            lane.users -= 1;
            if lane.users == 0 {
                lanes.remove(&self.key);
            }
        }
    }
}

impl Lanes {
    /// Waits for the conversation to be free. `None` when it is not and the caller does not want
    /// to wait, or when too many wait already.
    pub(super) async fn enter(&self, key: LaneKey, on_busy: OnBusy) -> Option<LaneGuard> {
        let (turns, outages, user) = self.join(key, on_busy)?;
        let waited = turns.available_permits() == 0;
        let outages_before = outages.load(Ordering::Relaxed);
        let permit = turns.acquire_owned().await.ok()?;
        Some(LaneGuard {
            waited,
            met_outage: outages.load(Ordering::Relaxed) != outages_before,
            outages,
            _permit: permit,
            _user: user,
        })
    }

    fn join(&self, key: LaneKey, on_busy: OnBusy) -> Option<Joined> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.entry(key.clone()).or_insert_with(|| Lane {
            turns: Arc::new(Semaphore::new(1)),
            outages: Arc::default(),
            users: 0,
        });
        let others_allowed = match on_busy {
            OnBusy::Queue => 1 + WAITING_TURNS,
            OnBusy::Reject => 1,
        };
        if lane.users >= others_allowed {
            return None;
        }
        lane.users += 1;
        let user = LaneUser {
            lanes: Arc::clone(&self.lanes),
            key,
        };
        Some((Arc::clone(&lane.turns), Arc::clone(&lane.outages), user))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn key() -> LaneKey {
        let id = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";
        ("default".parse().unwrap(), id.parse().unwrap())
    }

    #[tokio::test]
    async fn lets_one_in_and_the_others_in_order() {
        let lanes = Lanes::default();
        let key = key();
        let first = lanes.enter(key.clone(), OnBusy::Reject).await.unwrap();
        assert!(lanes.enter(key.clone(), OnBusy::Reject).await.is_none());
        let mut second = Box::pin(lanes.enter(key.clone(), OnBusy::Queue));
        assert!(second.as_mut().now_or_never().is_none());
        let mut third = Box::pin(lanes.enter(key.clone(), OnBusy::Queue));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.now_or_never().flatten().unwrap();
        drop(second);
        drop(third.now_or_never().flatten().unwrap());
        assert!(lanes.lanes.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn those_who_wait_learn_that_the_store_is_away() {
        let lanes = Lanes::default();
        let first = lanes.enter(key(), OnBusy::Queue).await.unwrap();
        let mut second = Box::pin(lanes.enter(key(), OnBusy::Queue));
        assert!(second.as_mut().now_or_never().is_none());
        first.note_outage();
        drop(first);
        let second = second.await.unwrap();
        assert!(second.waited && second.met_outage);
        drop(second);
        assert!(!lanes.enter(key(), OnBusy::Queue).await.unwrap().met_outage);
    }

    #[tokio::test]
    async fn sixteen_may_wait_and_no_more() {
        let lanes = Lanes::default();
        let key = key();
        let _running = lanes.enter(key.clone(), OnBusy::Queue).await.unwrap();
        let mut waiting: Vec<_> = (0..16)
            .map(|_| Box::pin(lanes.enter(key.clone(), OnBusy::Queue)))
            .collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        assert!(lanes.enter(key.clone(), OnBusy::Queue).await.is_none());
        waiting.pop();
        assert!(
            lanes
                .enter(key.clone(), OnBusy::Queue)
                .now_or_never()
                .is_none()
        );
    }
}
