//! `RateLimiter`: how many streams a principal has open at once.

use std::sync::Arc;

use ports::{RateLimiter, StreamSlot};
use tokio::task::JoinSet;

use crate::rate_limiter::{holder, holder_in};

async fn opened(limiter: &Arc<dyn RateLimiter>, number: u32, most: u32) -> Option<StreamSlot> {
    let slot = limiter.open_stream(&holder(number), most).await;
    slot.expect("the limiter is there")
}

/// As many streams of a principal as it may open, held open.
async fn all_opened(limiter: &Arc<dyn RateLimiter>, number: u32, most: u32) -> Vec<StreamSlot> {
    let mut slots = Vec::new();
    for _ in 0..most {
        let slot = opened(limiter, number, most).await;
        slots.push(slot.expect("a place is free"));
    }
    let one_more = opened(limiter, number, most).await;
    assert!(one_more.is_none(), "more than {most}");
    slots
}

/// `open_stream` answers `None` when the principal has `most` open already.
pub async fn opens_as_many_streams_as_may_be(limiter: &Arc<dyn RateLimiter>) {
    for (number, most) in [(1, 1), (2, 3), (3, 200)] {
        let slots = all_opened(limiter, number, most).await;
        assert_eq!(slots.len(), most as usize);
    }
}

/// Where no stream may be, there is none: not the first, nor beside others.
pub async fn opens_no_stream_where_none_may_be(limiter: &Arc<dyn RateLimiter>) {
    assert!(opened(limiter, 1, 0).await.is_none());
    let held = opened(limiter, 1, 1).await;
    assert!(held.is_some());
    assert!(opened(limiter, 1, 0).await.is_none());
    drop(held);
    assert!(opened(limiter, 1, 0).await.is_none());
}

/// MUST free the place when the slot is dropped: that one and no other, whichever it is.
pub async fn a_dropped_slot_frees_its_place(limiter: &Arc<dyn RateLimiter>) {
    for dropped in [0, 1, 2] {
        let mut slots = all_opened(limiter, 1, 3).await;
        for _ in 0..2 {
            drop(slots.remove(dropped));
            let again = opened(limiter, 1, 3).await;
            slots.push(again.expect("a place is free"));
            assert!(opened(limiter, 1, 3).await.is_none());
        }
    }
}

/// A slot may be dropped anywhere: at the end of a task too, also of one that was aborted.
pub async fn frees_the_places_of_a_task_that_ended(limiter: &Arc<dyn RateLimiter>) {
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

/// What was refused holds no place that would have to be freed.
pub async fn a_refused_stream_holds_no_place(limiter: &Arc<dyn RateLimiter>) {
    let slots = all_opened(limiter, 1, 2).await;
    for _ in 0..10 {
        assert!(opened(limiter, 1, 2).await.is_none());
    }
    drop(slots);
    all_opened(limiter, 1, 2).await;
}

/// The streams of one principal take no place of another's.
pub async fn counts_streams_of_principals_apart(limiter: &Arc<dyn RateLimiter>) {
    let slots = all_opened(limiter, 1, 2).await;
    let others = all_opened(limiter, 2, 2).await;
    drop(slots);
    assert!(opened(limiter, 2, 2).await.is_none());
    drop(others);
    all_opened(limiter, 1, 2).await;
}

/// Principals of one name in two tenants do not share.
pub async fn counts_streams_of_tenants_apart(limiter: &Arc<dyn RateLimiter>) {
    let mut slots = Vec::new();
    for tenant in ["one", "other"] {
        for is_free in [true, false] {
            let slot = limiter.open_stream(&holder_in(tenant, 1), 1).await;
            let slot = slot.expect("the limiter is there");
            assert_eq!(slot.is_some(), is_free, "{tenant}");
            slots.extend(slot);
        }
    }
}

/// The number that is asked with counts, whatever it was when the open ones were opened.
pub async fn a_changed_number_of_streams_takes_effect_at_once(limiter: &Arc<dyn RateLimiter>) {
    let mut slots = all_opened(limiter, 1, 3).await;
    assert!(opened(limiter, 1, 2).await.is_none());
    let fourth = opened(limiter, 1, 4).await;
    slots.push(fourth.expect("a place is free"));
    slots.truncate(2);
    assert!(opened(limiter, 1, 2).await.is_none());
    slots.truncate(1);
    assert!(opened(limiter, 1, 2).await.is_some());
}

/// Of all that are opened at the same time, just so many are let in, time and again.
pub async fn opens_exactly_as_many_streams_as_may_be_at_once(limiter: &Arc<dyn RateLimiter>) {
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
