//! The contents of a tail.

use std::sync::Arc;

use application::realtime::{LogRead, PageSize, SerializedEvent, Tail};
use domain::{EventType, Seq};

use crate::fixture::{EventSpec, Fixture, events, everything, logged, tenant};

fn expired(read: &LogRead) -> (Seq, Seq) {
    match read {
        LogRead::Expired { first, head } => (*first, *head),
        LogRead::Events { .. } => panic!("{read:?}"),
    }
}

#[tokio::test]
async fn a_tail_begins_at_the_head_and_is_the_same_for_all() {
    let fixture = Fixture::new();
    fixture.log.grow(5);
    let tail = fixture.tail().await;
    assert_eq!(tail.position(), Seq(5));
    assert!(Arc::ptr_eq(&tail, &fixture.tail().await));
    assert_eq!(fixture.log.pages(), 0);
}

#[tokio::test]
async fn reads_from_memory_do_not_access_the_store() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    fixture.grow(3);
    fixture.reaches(&tail, Seq(3)).await;
    let pages = fixture.log.pages();
    for since in 0..=3 {
        let read = fixture.read(&tail, &everything(), since).await;
        let expected = fixture.log.between(&everything(), Seq(since), Seq(3));
        assert_eq!(logged(&read), expected);
    }
    assert_eq!(fixture.log.pages(), pages);
}

#[tokio::test]
async fn events_before_the_tail_are_read_from_the_store() {
    let fixture = Fixture::new();
    fixture.log.grow(5);
    let tail = fixture.tail().await;
    let read = fixture.read(&tail, &everything(), 2).await;
    assert_eq!(logged(&read).len(), 3);
    assert!(matches!(
        read,
        LogRead::Events {
            next: Seq(5),
            at_tail: true,
            ..
        }
    ));
    assert_eq!(fixture.log.pages(), 1);
}

#[tokio::test]
async fn the_envelope_is_serialized_once_for_all_readers() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    fixture.grow(1);
    fixture.reaches(&tail, Seq(1)).await;
    let read = || {
        tail.read(Seq(0), events(1), |_| true)
            .unwrap()
            .events
            .remove(0)
    };
    let (one, other): (Arc<SerializedEvent>, Arc<SerializedEvent>) = (read(), read());
    let json = |event: &SerializedEvent| Arc::clone(event.whole_json());
    assert!(Arc::ptr_eq(&json(&one), &json(&other)));
    let envelope = serde_json::to_string(&one.logged.event).unwrap();
    assert_eq!(*json(&one), *envelope);
}

#[tokio::test]
async fn growth_while_a_tail_starts_is_not_missed() {
    let fixture = Arc::new(Fixture::new());
    fixture.log.slow_down(20);
    let beginning = fixture.tail();
    let growing = async {
        // The request for the head is under way.
        tokio::task::yield_now().await;
        fixture.grow(2);
    };
    let (tail, ()) = tokio::join!(beginning, growing);
    assert_eq!(tail.position(), Seq(0));
    fixture.reaches(&tail, Seq(2)).await;
}

#[tokio::test]
async fn the_next_hint_replaces_a_lost_one_and_late_hints_are_harmless() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    fixture.log.grow(2);
    fixture.grow(1);
    fixture.reaches(&tail, Seq(3)).await;
    let pages = fixture.log.pages();
    for head in [0, 1, 3, 3] {
        fixture.tails.report_head(&tenant(), Seq(head));
        tokio::task::yield_now().await;
    }
    assert_eq!((tail.position(), fixture.log.pages()), (Seq(3), pages));
}

#[tokio::test]
async fn a_tail_continues_at_the_next_hint_after_the_store_failed() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    fixture.log.fail(1);
    fixture.grow(1);
    while fixture.log.pages() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tail.position(), Seq(0));
    // This hint has the same head as the previous one.
    fixture.hint();
    fixture.reaches(&tail, Seq(1)).await;
}

#[tokio::test]
async fn an_unreadable_event_stops_only_the_readers_that_need_it() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    fixture.log.grow(2);
    fixture
        .log
        .append([EventSpec::of_type(EventType::AgentUpdated)]);
    fixture.log.corrupt(Seq(3));
    fixture.hint();
    fixture.reaches(&tail, Seq(3)).await;
    let read = fixture
        .reader
        .read(&tail, &everything(), Seq(0), events(10))
        .await;
    assert!(read.is_err(), "{read:?}");
    let mut others = everything();
    others.types = vec![EventType::AgentCreated];
    assert_eq!(logged(&fixture.read(&tail, &others, 0).await).len(), 2);
    fixture.grow(1);
    fixture.reaches(&tail, Seq(4)).await;
    assert_eq!(
        logged(&fixture.read(&tail, &everything(), 3).await).len(),
        1
    );
}

#[tokio::test]
async fn a_tail_that_failed_to_start_starts_at_the_next_request() {
    let fixture = Fixture::new();
    fixture.log.fail(1);
    assert!(fixture.tails.tail(&tenant()).await.is_err());
    assert_eq!(fixture.tails.count(), 0);
    fixture.log.grow(2);
    assert_eq!(fixture.tail().await.position(), Seq(2));
}

#[tokio::test]
async fn a_tail_restarts_at_the_head_when_the_log_was_trimmed_beyond_it() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    fixture.grow(2);
    fixture.reaches(&tail, Seq(2)).await;
    fixture.log.grow(10);
    fixture.log.trim(6);
    fixture.hint();
    fixture.reaches(&tail, Seq(12)).await;
    let read = fixture.read(&tail, &everything(), 2).await;
    assert_eq!(expired(&read), (Seq(7), Seq(12)));
    fixture.grow(1);
    fixture.reaches(&tail, Seq(13)).await;
    let pages = fixture.log.pages();
    assert_eq!(
        logged(&fixture.read(&tail, &everything(), 12).await).len(),
        1
    );
    assert_eq!(fixture.log.pages(), pages);
}

#[tokio::test]
async fn a_position_beyond_the_head_is_reported_as_expired() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    fixture.log.grow(3);
    // This node has not read up to this position yet, but the store has it.
    let read = fixture.read(&tail, &everything(), 3).await;
    assert_eq!(logged(&read), []);
    let read = fixture.read(&tail, &everything(), 4).await;
    assert_eq!(expired(&read), (Seq(1), Seq(3)));
}

/// A tail that holds this number of events.
async fn filled(fixture: &Fixture, count: usize) -> Arc<Tail> {
    let tail = fixture.tail().await;
    fixture.grow(count);
    fixture.reaches(&tail, fixture.log.head()).await;
    tail
}

#[tokio::test]
async fn a_tail_holds_at_most_the_newest_1_024_events() {
    let fixture = Fixture::new();
    let tail = filled(&fixture, 1_024).await;
    assert!(tail.read(Seq(0), events(1), |_| true).is_some());
    fixture.grow(1);
    fixture.reaches(&tail, Seq(1_025)).await;
    assert_eq!(tail.read(Seq(0), events(1), |_| true), None);
    let kept = tail.read(Seq(1), events(2_000), |_| true).unwrap();
    assert_eq!(kept.events.len(), 1_024);
    assert_eq!(kept.next, Seq(1_025));
}

#[tokio::test]
async fn a_tail_holds_at_most_4_mib() {
    let fixture = Fixture::new();
    let tail = fixture.tail().await;
    let large = EventSpec {
        bytes: 128 * 1024,
        ..EventSpec::default()
    };
    fixture.log.append(vec![large; 40]);
    fixture.hint();
    fixture.reaches(&tail, Seq(40)).await;
    // Each event is held twice: as JSON, and as the value that was serialized.
    let kept = (0..=40)
        .rev()
        .filter_map(|since| tail.read(Seq(since), events(100), |_| true));
    let most = kept.map(|read| read.events.len()).max();
    assert_eq!(most, Some(15));
}

#[tokio::test]
async fn a_read_stops_at_its_limit_and_the_next_continues_there() {
    let fixture = Fixture::new();
    let tail = filled(&fixture, 10).await;
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

#[tokio::test]
async fn a_page_from_memory_ends_at_its_byte_limit() {
    let fixture = Fixture::new();
    let tail = filled(&fixture, 10).await;
    let all = tail
        .read(Seq(0), events(10), |_| true)
        .expect("all is held");
    let two = all
        .events
        .iter()
        .take(2)
        .map(|event| event.whole_json().len())
        .sum();
    for (bytes, expected) in [(two, 2), (two - 1, 1), (0, 1)] {
        let size = PageSize { events: 10, bytes };
        let page = tail.read(Seq(0), size, |_| true).expect("all is held");
        assert_eq!(page.events.len(), expected);
        assert_eq!(page.next, page.events[expected - 1].seq());
    }
}
