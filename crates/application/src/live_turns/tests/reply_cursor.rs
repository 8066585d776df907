use std::time::Duration;

use serde_json::Map;

use super::fixture::subject;
use crate::{
    engines::CallEnd,
    live_turns::{Progress, ReplyCursor, ReplyPiece},
};

fn called(progress: &mut Progress) -> usize {
    let turn = subject().turn_id;
    let begun = progress
        .reply
        .begin_call(turn, "time".to_owned(), Map::new());
    begun.unwrap()
}

fn returned(progress: &mut Progress, call: usize) {
    let end = CallEnd {
        status: "ok",
        took: Duration::from_millis(3),
        result: "noon".to_owned(),
    };
    progress.reply.settle_call(call, end);
    assert!(progress.reply.end_call(call));
}

/// Returns a short description of each remaining piece.
fn all(cursor: &mut ReplyCursor, progress: &Progress) -> Vec<String> {
    let pieces = std::iter::from_fn(|| cursor.next(&subject(), progress));
    let short = pieces.map(|piece| match piece {
        ReplyPiece::Delta(delta) => format!("{}..{} {}", delta.from, delta.to, delta.text),
        ReplyPiece::ToolCalled(call) => format!("called {}", call.name),
        ReplyPiece::ToolReturned(call) => format!("returned {}", call.status),
    });
    short.collect()
}

#[test]
fn text_and_tools_are_returned_in_order() {
    let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
    progress.reply.text.push_str("Let me look. ");
    let call = called(&mut progress);
    returned(&mut progress, call);
    progress.reply.text.push_str("It is noon.");
    let expected = [
        "0..13 Let me look. ",
        "called time",
        "returned ok",
        "13..24 It is noon.",
    ];
    assert_eq!(all(&mut cursor, &progress), expected);
    called(&mut progress);
    assert_eq!(all(&mut cursor, &progress), ["called time"]);
    assert_eq!(all(&mut cursor, &progress), Vec::<String>::new());
}

#[test]
fn a_cursor_that_caught_up_returns_what_comes_after() {
    let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
    progress.reply.text.push_str("One");
    let call = called(&mut progress);
    assert!(!cursor.is_at_end_of(&progress));
    assert_eq!(cursor.catch_up(&progress), "One");
    assert!(cursor.is_at_end_of(&progress));
    returned(&mut progress, call);
    progress.reply.text.push_str(" two");
    assert_eq!(all(&mut cursor, &progress), ["returned ok", "3..7  two"]);
}

#[test]
fn withheld_text_is_not_returned() {
    let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
    progress.reply.text.push_str("One");
    progress.hold();
    progress.reply.text.push_str(" two");
    called(&mut progress);
    assert_eq!(all(&mut cursor, &progress), ["0..3 One"]);
    progress.release();
    assert_eq!(all(&mut cursor, &progress), ["3..7  two", "called time"]);
}
