//! The contents and the lifetime of a tail.

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
async fn reads_from_memory_do_not_access_the_store() {
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
async fn events_before_the_tail_are_read_from_the_store() {
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
async fn the_envelope_is_serialized_once_for_all_readers() {
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
async fn growth_while_a_tail_starts_is_not_missed() {
    let world = Arc::new(World::new());
    world.log.slow_down(20);
    let beginning = world.tail();
    let growing = async {
        // The request for the head is under way.
        tokio::task::yield_now().await;
        world.grow(2);
    };
    let (tail, ()) = tokio::join!(beginning, growing);
    assert_eq!(tail.position(), Seq(0));
    world.reaches(&tail, Seq(2)).await;
}

#[tokio::test]
async fn the_next_hint_replaces_a_lost_one_and_late_hints_are_harmless() {
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
async fn a_tail_continues_at_the_next_hint_after_the_store_failed() {
    let world = World::new();
    let tail = world.tail().await;
    world.log.fail(1);
    world.grow(1);
    while world.log.pages() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tail.position(), Seq(0));
    // This hint has the same head as the previous one.
    world.hint();
    world.reaches(&tail, Seq(1)).await;
}

#[tokio::test]
async fn an_unreadable_event_stops_only_the_readers_that_need_it() {
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
async fn a_tail_that_failed_to_start_starts_at_the_next_request() {
    let world = World::new();
    world.log.fail(1);
    assert!(world.feed.tail(&tenant()).await.is_err());
    assert_eq!(world.feed.tails(), 0);
    world.log.grow(2);
    assert_eq!(world.tail().await.position(), Seq(2));
}

#[tokio::test]
async fn a_tail_restarts_at_the_head_when_the_log_was_trimmed_beyond_it() {
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
async fn a_position_beyond_the_head_is_reported_as_expired() {
    let world = World::new();
    let tail = world.tail().await;
    world.log.grow(3);
    // This node has not read up to this position yet, but the store has it.
    let read = world.read(&tail, &everything(), 3).await;
    assert_eq!(logged(&read), []);
    let read = world.read(&tail, &everything(), 4).await;
    assert_eq!(expired(&read), (Seq(1), Seq(3)));
}

/// A tail that holds this number of events.
async fn filled(world: &World, count: usize) -> Arc<Tail> {
    let tail = world.tail().await;
    world.grow(count);
    world.reaches(&tail, world.log.head()).await;
    tail
}

#[tokio::test]
async fn a_tail_holds_at_most_the_newest_1_024_events() {
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
async fn a_tail_holds_at_most_4_mib() {
    let world = World::new();
    let tail = world.tail().await;
    let large = Sample {
        bytes: 128 * 1024,
        ..Sample::default()
    };
    world.log.append(vec![large; 40]);
    world.hint();
    world.reaches(&tail, Seq(40)).await;
    // Each event is held twice: as JSON, and as the value that was serialized.
    let kept = (0..=40)
        .rev()
        .filter_map(|since| tail.read(Seq(since), events(100), |_| true));
    let most = kept.map(|read| read.events.len()).max();
    assert_eq!(most, Some(15));
}

#[tokio::test]
async fn a_read_stops_at_its_limit_and_the_next_continues_there() {
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

/// The types of the events that a tail holds, each with a flag for data that is not deleted.
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
async fn a_deletion_removes_the_data_of_a_conversation_from_the_tail() {
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
async fn a_deletion_removes_the_data_of_an_agent_and_its_conversations_from_the_tail() {
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
async fn a_reader_that_starts_after_a_deletion_receives_no_deleted_data() {
    let world = World::new();
    let tail = world.tail().await;
    let of = |kind| Sample {
        conversation: Some(0),
        ..Sample::of_type(kind)
    };
    world.log.append([of(EventType::ConversationCreated)]);
    world.hint();
    world.reaches(&tail, Seq(1)).await;
    // Another node deletes the conversation, and no hint of that has arrived yet.
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
async fn a_page_from_memory_ends_at_its_byte_limit() {
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
async fn a_tail_is_dropped_after_a_minute_without_use() {
    let world = World::new();
    drop(world.tail().await);
    let began = Instant::now();
    while world.feed.tails() > 0 {
        assert!(began.elapsed() < PAST, "it stays");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(began.elapsed() >= Duration::from_mins(1));
    // The task of the tail has ended too.
    world.tasks.close();
    world.tasks.wait().await;
}

#[tokio::test(start_paused = true)]
async fn a_tail_is_kept_while_it_is_held_or_requested() {
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
async fn a_tail_ends_with_the_process() {
    let world = World::new();
    let _held = world.tail().await;
    world.stop.cancel();
    world.tasks.close();
    world.tasks.wait().await;
}
