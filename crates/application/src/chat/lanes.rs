//! One turn at a time in a conversation, in order of arrival.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
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

struct Lane {
    turns: Arc<Semaphore>,
    /// Who holds or awaits the lane; it is forgotten with the last of them.
    users: u32,
}

/// The right to run a turn in a conversation.
pub(super) struct LaneGuard {
    /// Whether another turn was in the conversation before.
    pub(super) waited: bool,
    _permit: OwnedSemaphorePermit,
    _user: LaneUser,
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
        let (turns, user) = self.join(key, on_busy)?;
        let waited = turns.available_permits() == 0;
        let permit = turns.acquire_owned().await.ok()?;
        Some(LaneGuard {
            waited,
            _permit: permit,
            _user: user,
        })
    }

    fn join(&self, key: LaneKey, on_busy: OnBusy) -> Option<(Arc<Semaphore>, LaneUser)> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.entry(key.clone()).or_insert_with(|| Lane {
            turns: Arc::new(Semaphore::new(1)),
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
        Some((Arc::clone(&lane.turns), user))
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
