//! `RateLimiter`: the number of streams that a principal may have open.

use std::sync::Arc;

use ports::{RateLimiter, StreamSlot};
use tokio::task::JoinSet;

use crate::rate_limiter::{holder, holder_in};

async fn opened(limiter: &Arc<dyn RateLimiter>, number: u32, most: u32) -> Option<StreamSlot> {
    let slot = limiter.open_stream(&holder(number), most).await;
    slot.expect("the limiter is available")
}

/// Opens and returns as many streams of a principal as possible.
async fn all_opened(limiter: &Arc<dyn RateLimiter>, number: u32, most: u32) -> Vec<StreamSlot> {
    let mut slots = Vec::new();
    for _ in 0..most {
        let slot = opened(limiter, number, most).await;
        slots.push(slot.expect("a slot is free"));
    }
    let one_more = opened(limiter, number, most).await;
    assert!(one_more.is_none(), "more than {most}");
    slots
}

/// `open_stream` returns `None` if `most` streams of the principal are open.
pub async fn streams_can_be_opened_up_to_the_maximum(limiter: &Arc<dyn RateLimiter>) {
    for (number, most) in [(1, 1), (2, 3), (3, 200)] {
        let slots = all_opened(limiter, number, most).await;
        assert_eq!(slots.len(), most as usize);
    }
}

/// If the maximum is zero, no stream can be opened.
pub async fn no_stream_can_be_opened_if_the_maximum_is_zero(limiter: &Arc<dyn RateLimiter>) {
    assert!(opened(limiter, 1, 0).await.is_none());
    let held = opened(limiter, 1, 1).await;
    assert!(held.is_some());
    assert!(opened(limiter, 1, 0).await.is_none());
    drop(held);
    assert!(opened(limiter, 1, 0).await.is_none());
}

/// Dropping a slot MUST release it, and no other.
pub async fn a_dropped_slot_is_released(limiter: &Arc<dyn RateLimiter>) {
    for dropped in [0, 1, 2] {
        let mut slots = all_opened(limiter, 1, 3).await;
        for _ in 0..2 {
            drop(slots.remove(dropped));
            let again = opened(limiter, 1, 3).await;
            slots.push(again.expect("a slot is free"));
            assert!(opened(limiter, 1, 3).await.is_none());
        }
    }
}

/// A slot can be dropped anywhere, for example at the end of a task, also of an aborted one.
pub async fn slots_of_an_ended_task_are_released(limiter: &Arc<dyn RateLimiter>) {
    let slots = all_opened(limiter, 1, 2).await;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(slots) });
    assert!(tasks.join_next().await.is_some_and(|end| end.is_ok()));
    let slots = all_opened(limiter, 1, 2).await;
    tasks.spawn(async move {
        let _held = slots;
        std::future::pending::<()>().await;
    });
    tasks.shutdown().await;
    all_opened(limiter, 1, 2).await;
}

/// A rejected stream occupies no slot.
pub async fn a_rejected_stream_occupies_no_slot(limiter: &Arc<dyn RateLimiter>) {
    let slots = all_opened(limiter, 1, 2).await;
    for _ in 0..10 {
        assert!(opened(limiter, 1, 2).await.is_none());
    }
    drop(slots);
    all_opened(limiter, 1, 2).await;
}

/// Streams of one principal do not count for another.
pub async fn slots_are_separate_for_each_principal(limiter: &Arc<dyn RateLimiter>) {
    let slots = all_opened(limiter, 1, 2).await;
    let others = all_opened(limiter, 2, 2).await;
    drop(slots);
    assert!(opened(limiter, 2, 2).await.is_none());
    drop(others);
    all_opened(limiter, 1, 2).await;
}

/// Principals with the same id in two tenants do not share slots.
pub async fn slots_are_separate_for_each_tenant(limiter: &Arc<dyn RateLimiter>) {
    let mut slots = Vec::new();
    for tenant in ["one", "other"] {
        for is_free in [true, false] {
            let slot = limiter.open_stream(&holder_in(tenant, 1), 1).await;
            let slot = slot.expect("the limiter is available");
            assert_eq!(slot.is_some(), is_free, "{tenant}");
            slots.extend(slot);
        }
    }
}

/// The maximum of the current call applies, whatever it was when the other streams were opened.
pub async fn a_changed_maximum_of_streams_takes_effect_at_once(limiter: &Arc<dyn RateLimiter>) {
    let mut slots = all_opened(limiter, 1, 3).await;
    assert!(opened(limiter, 1, 2).await.is_none());
    let fourth = opened(limiter, 1, 4).await;
    slots.push(fourth.expect("a slot is free"));
    slots.truncate(2);
    assert!(opened(limiter, 1, 2).await.is_none());
    slots.truncate(1);
    assert!(opened(limiter, 1, 2).await.is_some());
}

/// Concurrent calls open exactly the maximum, each time.
pub async fn concurrent_calls_open_exactly_the_maximum_of_streams(limiter: &Arc<dyn RateLimiter>) {
    for round in 0..20 {
        let mut openers = JoinSet::new();
        for _ in 0..16 {
            let limiter = Arc::clone(limiter);
            openers.spawn(async move { opened(&limiter, 1, 5).await });
        }
        let slots = openers.join_all().await;
        let held = slots.iter().filter(|slot| slot.is_some()).count();
        assert_eq!(held, 5, "in round {round}");
    }
}
