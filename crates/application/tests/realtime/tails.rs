//! What a tail holds, and how long it is kept.

use std::sync::Arc;

use application::realtime::{Followed, PageSize, Read, SerializedEvent, Tail};
use domain::{EventData, EventType, Seq};
use tokio::time::{Duration, Instant};

use crate::{
    samples::{Sample, everything, tenant},
    world::{World, events, logged},
};

const PAST: Duration = Duration::from_secs(100);

fn expired(read: &Read) -> (Seq, Seq) {
    match read {
        Read::Expired { first, head } => (*first, *head),
        Read::Events { .. } => panic!("{read:?}"),
    }
}

#[tokio::test]
async fn a_tail_begins_at_the_head_and_is_the_same_for_all() {
    let world = World::new();
    world.log.grow(5);
    let tail = world.tail().await;
    assert_eq!(tail.position(), Seq(5));
    assert!(Arc::ptr_eq(&tail, &world.tail().await));
    assert_eq!(world.log.pages(), 0);
}

#[tokio::test]
async fn what_is_read_from_memory_asks_the_store_for_nothing() {
    let world = World::new();
    let tail = world.tail().await;
    world.grow(3);
    world.reaches(&tail, Seq(3)).await;
    let pages = world.log.pages();
    for since in 0..=3 {
        let read = world.read(&tail, &everything(), since).await;
        let expected = world.log.between(&everything(), Seq(since), Seq(3));
        assert_eq!(logged(&read), expected);
    }
    assert_eq!(world.log.pages(), pages);
}

#[tokio::test]
async fn what_was_before_the_tail_is_read_from_the_store() {
    let world = World::new();
    world.log.grow(5);
    let tail = world.tail().await;
    let read = world.read(&tail, &everything(), 2).await;
    assert_eq!(logged(&read).len(), 3);
    assert!(matches!(
        read,
        Read::Events {
            next: Seq(5),
            at_tail: true,
            ..
        }
    ));
    assert_eq!(world.log.pages(), 1);
}

#[tokio::test]
async fn the_envelope_is_written_once_for_all() {
    let world = World::new();
    let tail = world.tail().await;
    world.grow(1);
    world.reaches(&tail, Seq(1)).await;
    let read = || {
        tail.read(Seq(0), events(1), |_| true)
            .unwrap()
            .events
            .remove(0)
    };
    let (one, other): (Arc<SerializedEvent>, Arc<SerializedEvent>) = (read(), read());
    assert!(Arc::ptr_eq(&one.json, &other.json));
    let envelope = serde_json::to_string(&one.logged.event).unwrap();
    assert_eq!(*one.json, *envelope);
}

#[tokio::test]
async fn growth_during_the_beginning_is_not_missed() {
    let world = Arc::new(World::new());
    world.log.slow_down(20);
    let beginning = world.tail();
    let growing = async {
        // The head was asked for, and is on its way.
        tokio::task::yield_now().await;
        world.grow(2);
    };
    let (tail, ()) = tokio::join!(beginning, growing);
    assert_eq!(tail.position(), Seq(0));
    world.reaches(&tail, Seq(2)).await;
}

#[tokio::test]
async fn a_lost_hint_is_made_good_by_the_next_and_late_ones_do_no_harm() {
    let world = World::new();
    let tail = world.tail().await;
    world.log.grow(2);
    world.grow(1);
    world.reaches(&tail, Seq(3)).await;
    let pages = world.log.pages();
    for head in [0, 1, 3, 3] {
        world.feed.note_head(&tenant(), Seq(head));
        tokio::task::yield_now().await;
    }
    assert_eq!((tail.position(), world.log.pages()), (Seq(3), pages));
}

#[tokio::test]
async fn goes_on_at_the_next_hint_when_the_store_failed() {
    let world = World::new();
    let tail = world.tail().await;
    world.log.fail(1);
    world.grow(1);
    while world.log.pages() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tail.position(), Seq(0));
    // The same head as before.
    world.hint();
    world.reaches(&tail, Seq(1)).await;
}

#[tokio::test]
async fn what_can_never_be_read_stops_those_alone_who_need_it() {
    let world = World::new();
    let tail = world.tail().await;
    world.log.grow(2);
    world.log.append([Sample::of_type(EventType::AgentUpdated)]);
    world.log.corrupt(Seq(3));
    world.hint();
    world.reaches(&tail, Seq(3)).await;
    let read = world
        .reader
        .read(&tail, &everything(), Seq(0), events(10))
        .await;
    assert!(read.is_err(), "{read:?}");
    let mut others = everything();
    others.types = vec![EventType::AgentCreated];
    assert_eq!(logged(&world.read(&tail, &others, 0).await).len(), 2);
    world.grow(1);
    world.reaches(&tail, Seq(4)).await;
    assert_eq!(logged(&world.read(&tail, &everything(), 3).await).len(), 1);
}

#[tokio::test]
async fn a_tail_that_could_not_begin_begins_when_it_is_asked_for_again() {
    let world = World::new();
    world.log.fail(1);
    assert!(world.feed.tail(&tenant()).await.is_err());
    assert_eq!(world.feed.tails(), 0);
    world.log.grow(2);
    assert_eq!(world.tail().await.position(), Seq(2));
}

#[tokio::test]
async fn begins_anew_at_the_head_when_the_log_was_trimmed_beyond_it() {
    let world = World::new();
    let tail = world.tail().await;
    world.grow(2);
    world.reaches(&tail, Seq(2)).await;
    world.log.grow(10);
    world.log.trim(6);
    world.hint();
    world.reaches(&tail, Seq(12)).await;
    let read = world.read(&tail, &everything(), 2).await;
    assert_eq!(expired(&read), (Seq(7), Seq(12)));
    world.grow(1);
    world.reaches(&tail, Seq(13)).await;
    let pages = world.log.pages();
    assert_eq!(logged(&world.read(&tail, &everything(), 12).await).len(), 1);
    assert_eq!(world.log.pages(), pages);
}

#[tokio::test]
async fn who_asks_for_what_is_not_there_yet_is_told() {
    let world = World::new();
    let tail = world.tail().await;
    world.log.grow(3);
    // This node has not read so far yet, but the store knows it.
    let read = world.read(&tail, &everything(), 3).await;
    assert_eq!(logged(&read), []);
    let read = world.read(&tail, &everything(), 4).await;
    assert_eq!(expired(&read), (Seq(1), Seq(3)));
}

/// A tail that holds so many events.
async fn filled(world: &World, count: usize) -> Arc<Tail> {
    let tail = world.tail().await;
    world.grow(count);
    world.reaches(&tail, world.log.head()).await;
    tail
}

#[tokio::test]
async fn keeps_the_newest_events_and_no_more_than_1_024() {
    let world = World::new();
    let tail = filled(&world, 1_024).await;
    assert!(tail.read(Seq(0), events(1), |_| true).is_some());
    world.grow(1);
    world.reaches(&tail, Seq(1_025)).await;
    assert_eq!(tail.read(Seq(0), events(1), |_| true), None);
    let kept = tail.read(Seq(1), events(2_000), |_| true).unwrap();
    assert_eq!(kept.events.len(), 1_024);
    assert_eq!(kept.next, Seq(1_025));
}

#[tokio::test]
async fn keeps_no_more_than_4_mib() {
    let world = World::new();
    let tail = world.tail().await;
    let large = Sample {
        bytes: 128 * 1024,
        ..Sample::default()
    };
    world.log.append(vec![large; 40]);
    world.hint();
    world.reaches(&tail, Seq(40)).await;
    // Each stands there twice: as JSON, and as what that was written from.
    let kept = (0..=40)
        .rev()
        .filter_map(|since| tail.read(Seq(since), events(100), |_| true));
    let most = kept.map(|read| read.events.len()).max();
    assert_eq!(most, Some(15));
}

#[tokio::test]
async fn reading_stops_after_what_was_asked_for_and_goes_on_from_there() {
    let world = World::new();
    let tail = filled(&world, 10).await;
    let is_even = |event: &SerializedEvent| event.seq().0 % 2 == 0;
    let seqs = |since, limit| {
        let read = tail.read(Seq(since), events(limit), is_even).unwrap();
        let seqs: Vec<_> = read.events.iter().map(|event| event.seq().0).collect();
        (seqs, read.next.0)
    };
    assert_eq!(seqs(0, 2), (vec![2, 4], 4));
    assert_eq!(seqs(4, 2), (vec![6, 8], 8));
    assert_eq!(seqs(8, 2), (vec![10], 10));
    assert_eq!(seqs(9, 1), (vec![10], 10));
    assert_eq!(seqs(10, 2), (vec![], 10));
}

/// The types of the events that a tail holds, and whether each still shows something.
fn shown(tail: &Tail) -> Vec<(EventType, bool)> {
    let held = tail
        .read(Seq(0), events(100), |_| true)
        .expect("all is held");
    let shown = held.events.iter().map(|fed| {
        let is_empty = fed.logged.event.data == EventData::DELETED;
        assert_eq!(fed.json.contains(r#""data":{"deleted":true}"#), is_empty);
        (fed.logged.event.kind, !is_empty)
    });
    shown.collect()
}

#[tokio::test]
async fn a_deletion_empties_what_is_held_of_a_conversation() {
    let world = World::new();
    let tail = world.tail().await;
    let (mine, others) = (0, 1);
    let of = |conversation, kind| Sample {
        conversation: Some(conversation),
        ..Sample::of_type(kind)
    };
    world.log.append([
        Sample::of_type(EventType::AgentCreated),
        of(mine, EventType::ConversationCreated),
        of(others, EventType::TurnStarted),
        of(mine, EventType::TurnCancelled),
    ]);
    world.hint();
    world.reaches(&tail, Seq(4)).await;
    world.log.append([of(mine, EventType::ConversationDeleted)]);
    world.hint();
    world.reaches(&tail, Seq(5)).await;
    assert_eq!(
        shown(&tail),
        [
            (EventType::AgentCreated, true),
            (EventType::ConversationCreated, false),
            (EventType::TurnStarted, true),
            (EventType::TurnCancelled, false),
            (EventType::ConversationDeleted, true),
        ]
    );
}

#[tokio::test]
async fn a_deletion_empties_what_is_held_of_an_agent_and_its_conversations() {
    let world = World::new();
    let tail = world.tail().await;
    let of = |agent, kind| Sample {
        agent,
        ..Sample::of_type(kind)
    };
    world.log.append([
        of(0, EventType::AgentUpdated),
        of(1, EventType::AgentUpdated),
        of(0, EventType::TurnCompleted),
        of(0, EventType::ConversationDeleted),
        of(1, EventType::TurnCompleted),
        of(0, EventType::AgentDeleted),
    ]);
    world.hint();
    world.reaches(&tail, Seq(6)).await;
    assert_eq!(
        shown(&tail),
        [
            (EventType::AgentUpdated, false),
            (EventType::AgentUpdated, true),
            (EventType::TurnCompleted, false),
            (EventType::ConversationDeleted, false),
            (EventType::TurnCompleted, true),
            (EventType::AgentDeleted, true),
        ]
    );
}

#[tokio::test]
async fn a_reader_that_begins_after_a_deletion_is_shown_nothing_of_what_is_deleted() {
    let world = World::new();
    let tail = world.tail().await;
    let of = |kind| Sample {
        conversation: Some(0),
        ..Sample::of_type(kind)
    };
    world.log.append([of(EventType::ConversationCreated)]);
    world.hint();
    world.reaches(&tail, Seq(1)).await;
    // Another node deletes it, and no hint of that has arrived yet.
    world.log.append([of(EventType::ConversationDeleted)]);
    let tenant = tenant();
    let follower = world.reader.follow(&tenant, everything(), Some(Seq(0)));
    let mut follower = follower.await.expect("the log answers");
    let Followed::Events(events) = follower.next().await.expect("the log answers") else {
        panic!("there are events");
    };
    assert_eq!(events[0].logged.event.data, EventData::DELETED);
}

#[tokio::test]
async fn a_page_from_memory_ends_where_its_bytes_are_used_up() {
    let world = World::new();
    let tail = filled(&world, 10).await;
    let all = tail
        .read(Seq(0), events(10), |_| true)
        .expect("all is held");
    let two = all
        .events
        .iter()
        .take(2)
        .map(|event| event.json.len())
        .sum();
    for (bytes, expected) in [(two, 2), (two - 1, 1), (0, 1)] {
        let size = PageSize { events: 10, bytes };
        let page = tail.read(Seq(0), size, |_| true).expect("all is held");
        assert_eq!(page.events.len(), expected);
        assert_eq!(page.next, page.events[expected - 1].seq());
    }
}

#[tokio::test(start_paused = true)]
async fn is_dropped_when_nobody_has_used_it_for_a_minute() {
    let world = World::new();
    drop(world.tail().await);
    let began = Instant::now();
    while world.feed.tails() > 0 {
        assert!(began.elapsed() < PAST, "it stays");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(began.elapsed() >= Duration::from_mins(1));
    // Its task is gone too.
    world.tasks.close();
    world.tasks.wait().await;
}

#[tokio::test(start_paused = true)]
async fn is_kept_while_somebody_holds_it_or_asks_for_it() {
    let world = World::new();
    let held = world.tail().await;
    tokio::time::sleep(PAST).await;
    assert_eq!(world.feed.tails(), 1);
    drop(held);
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        drop(world.tail().await);
    }
    assert_eq!(world.feed.tails(), 1);
    tokio::time::sleep(PAST).await;
    assert_eq!(world.feed.tails(), 0);
}

#[tokio::test]
async fn ends_with_the_process() {
    let world = World::new();
    let _held = world.tail().await;
    world.stop.cancel();
    world.tasks.close();
    world.tasks.wait().await;
}
