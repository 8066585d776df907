use std::{collections::HashSet, sync::Arc};

use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::json;

use super::*;
use crate::{ModelStep, PastCalls, ToolStep};

/// A message with calls of this many characters.
fn with_calls(seq: i64, role: Role, content: &str, characters: usize) -> HistoryMessage {
    let arguments = "é".repeat(characters);
    let call = json!({"callId": "", "name": "", "function": "", "arguments": arguments});
    let call: ToolStep = serde_json::from_value(call).unwrap();
    let step = ModelStep {
        calls: vec![call],
        ..ModelStep::default()
    };
    let calls = PastCalls {
        steps: vec![Arc::new(step)],
        ..PastCalls::default()
    };
    HistoryMessage {
        calls: (characters > 0).then(|| Arc::new(calls)),
        ..HistoryMessage::new(seq, role, content)
    }
}

fn limits(messages: u32, characters: u32) -> HistoryLimits {
    HistoryLimits {
        max_messages: Some(messages),
        max_characters: Some(characters),
        ..HistoryLimits::default()
    }
}

/// The messages that models receive, with the number of characters of their calls.
fn within(characters: u32, history: &[HistoryMessage]) -> Option<Vec<(String, usize)>> {
    let fitting = limits(40, characters).in_steps(history)?.into_iter();
    let shown = fitting.map(|it| {
        let calls = it.calls.map_or(0, |calls| calls.characters());
        (it.content.to_string(), calls)
    });
    Some(shown.collect())
}

#[test]
fn calls_count_and_are_whole_or_missing() {
    let history = [
        with_calls(1, Role::Agent, "aa", 1),
        with_calls(2, Role::User, "bb", 0),
        with_calls(3, Role::Agent, "cc", 10),
        with_calls(4, Role::User, "dd", 0),
        with_calls(5, Role::Agent, "ee", 3),
    ];
    let expected = |calls: [usize; 5]| {
        let texts = ["aa", "bb", "cc", "dd", "ee"].map(str::to_owned);
        texts.into_iter().zip(calls).collect::<Vec<_>>()
    };
    assert_eq!(within(100, &history), None, "all bytes fit");
    assert_eq!(within(24, &history), Some(expected([1, 0, 10, 0, 3])));
    assert_eq!(
        within(23, &history),
        Some(expected([0, 0, 10, 0, 3])),
        "the oldest calls go first"
    );
    assert_eq!(
        within(16, &history),
        Some(expected([0, 0, 0, 0, 3])),
        "calls that do not fit hide those before them, but no texts"
    );
    assert_eq!(
        within(9, &history),
        Some(expected([0, 0, 0, 0, 3])[2..].to_vec())
    );
    assert_eq!(within(4, &history), Some(expected([0; 5])[3..].to_vec()));
}

#[test]
fn a_message_without_a_reply_needs_its_calls() {
    let history = [
        with_calls(1, Role::User, "lost", 10),
        with_calls(2, Role::User, "a", 0),
    ];
    assert_eq!(within(14, &history), Some(vec![("a".to_owned(), 0)]));
    assert_eq!(within(15, &history).map(|shown| shown.len()), Some(2));
}

#[test]
fn the_position_with_the_most_factors_of_two_is_the_steadiest() {
    for (first, last, expected) in [
        (1, 1, 1),
        (5, 7, 6),
        (5, 9, 8),
        (12, 17, 16),
        (9, 3, 9),
        (0, 3, 2),
    ] {
        assert_eq!(steadiest(first, last), expected, "{first} to {last}");
    }
}

#[test]
fn a_full_window_moves_by_a_quarter_of_its_messages() {
    for (max, step) in [(40, 10), (8, 2), (5, 1), (1, 1)] {
        let limits = limits(max, 48_000);
        let mut starts = Vec::new();
        for newest in 1..200 {
            let first = (newest - i64::from(max) + 1).max(1);
            let texts = (first..=newest).map(|seq| HistoryMessage::new(seq, Role::User, "a"));
            let texts: Vec<_> = texts.collect();
            let shown = limits.in_steps(&texts).unwrap_or(texts);
            let expected = newest.min(i64::from(max));
            let kept = i64::try_from(shown.len()).unwrap();
            assert!(kept + i64::from(step) > expected, "{max}");
            starts.push(shown[0].seq);
        }
        starts.dedup();
        let moves = starts.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(
            moves.into_iter().all(|by| by == i64::from(step)),
            "{starts:?}"
        );
        assert_eq!(starts[0], 1);
    }
}

/// The part of a conversation whose texts fit the limits, as stores read it.
fn read(limits: &HistoryLimits, conversation: &[HistoryMessage]) -> Vec<HistoryMessage> {
    let newest_first = conversation.iter().rev().map(|it| &*it.content);
    conversation[conversation.len() - limits.fitting(newest_first)..].to_vec()
}

/// Texts and calls of the messages of a conversation, in characters.
fn sizes() -> impl Strategy<Value = Vec<(usize, usize)>> {
    vec((1_usize..20, 0_usize..30), 100..200)
}

/// Returns the messages that models receive at each turn of a conversation.
fn shown_at_each_turn(
    limits: &HistoryLimits,
    sizes: &[(usize, usize)],
    has_calls: bool,
) -> Vec<Vec<HistoryMessage>> {
    let conversation = (1..).zip(sizes).map(|(seq, (text, calls))| {
        let role = if seq % 2 == 0 {
            Role::Agent
        } else {
            Role::User
        };
        let calls = if has_calls && seq % 2 == 0 { *calls } else { 0 };
        with_calls(seq, role, &"é".repeat(*text), calls)
    });
    let conversation: Vec<_> = conversation.collect();
    let turns = (1..=conversation.len()).step_by(2).map(|end| {
        let texts = read(limits, &conversation[..end]);
        let shown = limits.in_steps(&texts);
        let shown = shown.unwrap_or_else(|| texts.clone());
        assert_eq!(shown.last(), texts.last());
        shown
    });
    turns.collect()
}

proptest! {
    #[test]
    fn what_is_shown_fits(sizes in sizes(), has_calls: bool) {
        for shown in shown_at_each_turn(&limits(60, 300), &sizes, has_calls) {
            let of = |it: &HistoryMessage| {
                it.content.chars().count() + it.calls.as_ref().map_or(0, |it| it.characters())
            };
            prop_assert!(shown.iter().map(of).sum::<usize>() <= 300);
        }
    }

    #[test]
    fn starts_of_texts_never_move_back(sizes in sizes()) {
        let turns = shown_at_each_turn(&limits(60, 300), &sizes, false);
        prop_assert!(turns.iter().map(|shown| shown[0].seq).is_sorted());
    }
}

/// In a single conversation they can move more often, so this is the average of many, always the same ones.
#[test]
fn starts_rarely_move() {
    let share = |has_calls| {
        let mut runner = TestRunner::deterministic();
        let (mut starts, mut turns) = (0, 0);
        for _ in 0..200 {
            let sizes = sizes().new_tree(&mut runner).unwrap().current();
            let shown = shown_at_each_turn(&limits(60, 300), &sizes, has_calls);
            let distinct = shown.iter().map(|shown| {
                let first_calls = shown.iter().find(|it| it.calls.is_some());
                (shown[0].seq, first_calls.map(|it| it.seq))
            });
            starts += distinct.collect::<HashSet<_>>().len();
            turns += shown.len();
        }
        starts * 100 / turns
    };
    // Without steps, nearly every turn moves one of them.
    assert!(share(false) < 30, "{} %", share(false));
    assert!(share(true) < 60, "{} %", share(true));
}
