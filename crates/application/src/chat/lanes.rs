//! One turn at a time in a conversation, in order of arrival.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use domain::{ConversationId, sizes::WAITING_TURNS};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::command::OnBusy;

/// One turn at a time in each conversation of this process, in order of arrival.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: Arc<Mutex<HashMap<ConversationId, Lane>>>,
}

struct Lane {
    turns: Arc<Semaphore>,
    /// Who holds or awaits the lane; it is forgotten with the last of them.
    users: u32,
}

/// The right to run a turn in a conversation.
pub(super) struct LaneGuard {
    _permit: OwnedSemaphorePermit,
    _user: LaneUser,
}

struct LaneUser {
    lanes: Arc<Mutex<HashMap<ConversationId, Lane>>>,
    id: ConversationId,
}

impl Drop for LaneUser {
    fn drop(&mut self) {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get_mut(&self.id) {
            lane.users -= 1;
            if lane.users == 0 {
                lanes.remove(&self.id);
            }
        }
    }
}

impl Lanes {
    /// Waits for the conversation to be free. `None` when it is not and the caller does not want
    /// to wait, or when too many wait already.
    pub(super) async fn enter(&self, id: ConversationId, on_busy: OnBusy) -> Option<LaneGuard> {
        let (turns, user) = self.join(id, on_busy)?;
        let permit = turns.acquire_owned().await.ok()?;
        Some(LaneGuard {
            _permit: permit,
            _user: user,
        })
    }

    fn join(&self, id: ConversationId, on_busy: OnBusy) -> Option<(Arc<Semaphore>, LaneUser)> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.entry(id).or_insert_with(|| Lane {
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
            id,
        };
        Some((Arc::clone(&lane.turns), user))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn lets_one_in_and_the_others_in_order() {
        let lanes = Lanes::default();
        let id = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11".parse().unwrap();
        let first = lanes.enter(id, OnBusy::Reject).await.unwrap();
        assert!(lanes.enter(id, OnBusy::Reject).await.is_none());
        let mut second = Box::pin(lanes.enter(id, OnBusy::Queue));
        assert!(second.as_mut().now_or_never().is_none());
        let mut third = Box::pin(lanes.enter(id, OnBusy::Queue));
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
        let id = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11".parse().unwrap();
        let _running = lanes.enter(id, OnBusy::Queue).await.unwrap();
        let mut waiting: Vec<_> = (0..16)
            .map(|_| Box::pin(lanes.enter(id, OnBusy::Queue)))
            .collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        assert!(lanes.enter(id, OnBusy::Queue).await.is_none());
        waiting.pop();
        assert!(lanes.enter(id, OnBusy::Queue).now_or_never().is_none());
    }
}
