use std::{ops::Range, sync::Arc};

use contract::fixture;
use domain::{HistoryLimits, ModelResponse, ModelStep, PastCalls, PastEnding};

use super::*;

fn limits() -> HistoryLimits {
    HistoryLimits {
        max_messages: Some(4),
        max_characters: Some(100),
        ..HistoryLimits::default()
    }
}

fn messages(seqs: Range<i64>, content: &str) -> Vec<HistoryMessage> {
    let message = |seq| HistoryMessage::new(seq, Role::User, content);
    seqs.map(message).collect()
}

fn query(before: i64) -> HistoryQuery {
    HistoryQuery {
        before,
        limits: limits(),
    }
}

fn take(histories: &HistoryCache, conversation: u32, before: i64) -> Option<Vec<HistoryMessage>> {
    let id = fixture::conversation_id(conversation);
    histories.take(&fixture::tenant(), id, 7, &query(before))
}

fn keep(histories: &HistoryCache, conversation: u32, before: i64, messages: Vec<HistoryMessage>) {
    let id = fixture::conversation_id(conversation);
    histories.keep(&fixture::tenant(), id, 7, query(before), messages);
}

#[test]
fn a_history_is_returned_for_the_next_message_only() {
    let histories = HistoryCache::default();
    assert_eq!(
        take(&histories, 1, 1),
        Some(Vec::new()),
        "the first message"
    );
    keep(&histories, 1, 3, messages(1..3, "a"));
    assert_eq!(take(&histories, 2, 3), None, "another conversation");
    assert_eq!(take(&histories, 1, 4), None, "another message was stored");
    assert_eq!(take(&histories, 1, 3), Some(messages(1..3, "a")));
}

#[test]
fn a_history_is_taken_once() {
    let (histories, long) = (HistoryCache::default(), "x".repeat(50));
    keep(&histories, 1, 3, messages(1..3, &long));
    let held = histories.cache.weight();
    assert_eq!(take(&histories, 1, 3), Some(messages(1..3, &long)));
    assert_eq!(take(&histories, 1, 3), None);
    assert!(histories.cache.weight() + 100 <= held);
}

#[test]
fn a_history_is_not_returned_for_other_limits() {
    let (histories, id) = (HistoryCache::default(), fixture::conversation_id(1));
    keep(&histories, 1, 3, messages(1..3, "a"));
    let mut other = query(3);
    other.limits.max_messages = Some(5);
    assert_eq!(histories.take(&fixture::tenant(), id, 7, &other), None);
}

#[test]
fn a_history_is_returned_for_the_next_turn_only() {
    let (histories, id) = (HistoryCache::default(), fixture::conversation_id(1));
    keep(&histories, 1, 3, messages(1..3, "a"));
    let found = histories.take(&fixture::tenant(), id, 8, &query(3));
    assert_eq!(found, None, "messages were superseded");
}

#[test]
fn the_newest_messages_within_the_limits_are_cached() {
    let histories = HistoryCache::default();
    keep(&histories, 1, 9, messages(1..9, "a"));
    assert_eq!(take(&histories, 1, 9), Some(messages(5..9, "a")));
    let mut mixed = messages(1..3, "a");
    mixed.extend(messages(3..4, &"é".repeat(99)));
    mixed.extend(messages(4..6, "b"));
    keep(&histories, 1, 6, mixed);
    assert_eq!(take(&histories, 1, 6), Some(messages(4..6, "b")), "no gap");
}

#[test]
fn the_weight_stays_within_the_limit() {
    let histories = HistoryCache::within(200_000);
    for conversation in 0..2_000 {
        keep(&histories, conversation, 2, messages(1..2, &"x".repeat(90)));
    }
    let held = histories.cache.weight();
    assert!((100_000..=200_000).contains(&held), "{held}");
}

#[test]
fn a_conversation_that_returns_soon_after_its_eviction_stays_cached() {
    let (histories, text) = (HistoryCache::within(1_080_000), "x".repeat(90));
    let use_once = |conversations: Range<u32>| {
        for conversation in conversations {
            keep(&histories, conversation, 2, messages(1..2, &text));
        }
    };
    let returning = 20_000..20_200;
    use_once(0..10_000);
    use_once(returning.clone());
    use_once(30_000..32_500);
    for conversation in returning.clone() {
        assert_eq!(take(&histories, conversation, 2), None, "it was evicted");
        keep(&histories, conversation, 4, messages(1..2, &text));
    }
    use_once(40_000..42_000);
    let found = returning.filter(|conversation| take(&histories, *conversation, 4).is_some());
    let found = found.count();
    // How many varies with the random seed of the hashes.
    assert!(found > 100, "{found} of 200");
}

/// A conversation that is used repeatedly stays cached, however many others are used once.
#[test]
fn active_conversations_are_cached_despite_many_idle_ones() {
    let histories = HistoryCache::within(1_000_000);
    for conversation in 0..10_000 {
        keep(
            &histories,
            conversation,
            2,
            messages(1..2, &"x".repeat(400)),
        );
    }
    let mut found = 0;
    for turn in 1..=10 {
        for conversation in 20_000..20_200 {
            let known = take(&histories, conversation, 2 * turn);
            found += usize::from(turn > 1 && known.is_some());
            keep(&histories, conversation, 2 * turn + 2, messages(1..2, "x"));
        }
    }
    assert!(found > 1_700, "{found} of 1,800");
}

/// A message with a call whose response has this text.
fn with_calls(seq: i64, role: Role, text: &str, ending: Option<PastEnding>) -> HistoryMessage {
    let response = ModelResponse {
        text: text.to_owned(),
        ..ModelResponse::default()
    };
    let step = ModelStep {
        response,
        calls: Vec::new(),
    };
    let calls = PastCalls {
        steps: vec![Arc::new(step)],
        text_bytes: 0,
        ending,
    };
    HistoryMessage {
        calls: Some(Arc::new(calls)),
        ..HistoryMessage::new(seq, role, "a")
    }
}

#[test]
fn tool_calls_have_a_weight() {
    let histories = HistoryCache::default();
    keep(&histories, 1, 3, messages(1..3, "a"));
    let without = histories.cache.weight();
    let with = vec![with_calls(1, Role::Agent, &"x".repeat(10_000), None)];
    keep(&histories, 1, 3, with.clone());
    assert!(histories.cache.weight() > without + 9_000);
    assert_eq!(take(&histories, 1, 3), Some(with));
}

#[test]
fn withdrawn_messages_do_not_count_and_go_with_the_one_before_them() {
    let histories = HistoryCache::default();
    let withdrawn = |seq| with_calls(seq, Role::User, "", Some(PastEnding::Withdrawn));
    let mut all = vec![withdrawn(1)];
    all.extend(messages(2..4, "a"));
    all.push(withdrawn(4));
    all.extend(messages(5..9, "a"));
    keep(&histories, 1, 9, all.clone());
    assert_eq!(take(&histories, 1, 9), Some(all[3..].to_vec()));
}

#[test]
fn a_reply_whose_message_is_cut_off_has_no_calls() {
    let histories = HistoryCache::default();
    let mut all = messages(1..3, "a");
    all.push(with_calls(3, Role::Agent, "", None));
    all.extend(messages(4..7, "a"));
    keep(&histories, 1, 7, all);
    let kept = take(&histories, 1, 7).unwrap();
    assert_eq!((kept.len(), kept[0].seq), (4, 3));
    assert_eq!(kept[0].calls, None);
}
