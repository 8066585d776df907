use contract::fixture;
use domain::{Audience, Reasoning, ShowReasoning, ToolStep, ToolVisibility, TurnStep};

use super::fixture::subject;
use crate::{
    engines::PartialReply,
    live_turns::{Progress, ReplyCursor, ReplyPiece},
};

fn called(progress: &mut Progress) -> usize {
    called_with(progress, None)
}

fn called_with(progress: &mut Progress, visibility: Option<ToolVisibility>) -> usize {
    let reply = &mut progress.reply;
    let called = ToolStep {
        at: reply.text.len(),
        visibility,
        ..fixture::tool_step(&format!("call-{}", reply.call_count() + 1))
    };
    reply.begin_call(&called).unwrap()
}

fn returned(progress: &mut Progress, call: usize) {
    progress.reply.settle_call(call, &fixture::tool_end());
    assert!(progress.reply.end_call(call));
}

fn pieces(cursor: &mut ReplyCursor, progress: &Progress, audience: Audience) -> Vec<ReplyPiece> {
    std::iter::from_fn(|| cursor.next(&subject(), progress, audience)).collect()
}

/// Returns a short description of each remaining piece.
fn all(cursor: &mut ReplyCursor, progress: &Progress) -> Vec<String> {
    let pieces = pieces(cursor, progress, Audience::Staff).into_iter();
    let short = pieces.map(|piece| match piece {
        ReplyPiece::Reasoning(delta) => format!("({}..{} {})", delta.from, delta.to, delta.text),
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

#[test]
fn users_receive_what_is_shown_to_them() {
    let visibilities = [
        Some(ToolVisibility::Hidden),
        None,
        Some(ToolVisibility::Full),
    ];
    let mut progress = Progress::default();
    for visibility in visibilities {
        let call = called_with(&mut progress, visibility);
        progress.reply.text.push('.');
        returned(&mut progress, call);
    }
    let received = |audience| {
        let mut cursor = ReplyCursor::default();
        let received = pieces(&mut cursor, &progress, audience);
        assert!(cursor.is_at_end_of(&progress));
        let short = received.into_iter().map(|piece| match piece {
            ReplyPiece::Reasoning(delta) => delta.text,
            ReplyPiece::Delta(delta) => delta.text,
            ReplyPiece::ToolCalled(call) => format!("called {}", call.arguments.is_some()),
            ReplyPiece::ToolReturned(call) => format!("returned {}", call.result.is_some()),
        });
        short.collect::<Vec<_>>()
    };
    let whole = ["called true", ".", "returned true"];
    assert_eq!(received(Audience::Staff), [whole, whole, whole].concat());
    let reduced = ["called false", ".", "returned false"];
    let hidden = ["."];
    assert_eq!(
        received(Audience::User),
        [&hidden[..], &reduced, &whole].concat()
    );
}

#[test]
fn the_reply_of_a_resumed_turn_is_read_from_its_start() {
    let mut progress = Progress::default();
    assert!(progress.reply.push_text("One moment"));
    let call = called(&mut progress);
    returned(&mut progress, call);
    let mut cursor = ReplyCursor::default();
    assert_eq!(all(&mut cursor, &progress).len(), 3);

    let journal = [TurnStep::Resumed(domain::Resumption::after(&[], true))];
    progress.reply = PartialReply::resumed(&journal);
    assert!(progress.reply.push_text("Well"));
    let [ReplyPiece::Delta(delta)] = &pieces(&mut cursor, &progress, Audience::Staff)[..] else {
        panic!("only the new text")
    };
    assert_eq!(
        (delta.from, delta.text.as_str(), delta.attempt),
        (0, "Well", Some(2))
    );
}

fn reason(progress: &mut Progress, text: &str) {
    let reasoning = &mut progress.reply.reasoning;
    assert!(reasoning.push(text, ShowReasoning::Staff));
}

#[test]
fn reasoning_so_far_precedes_the_text_and_has_positions_of_its_own() {
    let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
    progress.reply.text.push_str("One");
    reason(&mut progress, "Hm");
    assert_eq!(all(&mut cursor, &progress), ["(0..2 Hm)", "0..3 One"]);
    progress.hold();
    reason(&mut progress, "m.");
    assert!(cursor.is_at_end_of(&progress));
    progress.release();
    assert_eq!(cursor.unread(&progress), 2);
    assert_eq!(all(&mut cursor, &progress), ["(2..4 m.)"]);
    assert!(cursor.is_at_end_of(&progress));
}

#[test]
fn users_do_not_receive_reasoning_for_staff() {
    let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
    reason(&mut progress, "Hm.");
    assert_eq!(pieces(&mut cursor, &progress, Audience::User), []);
    assert!(cursor.is_at_end_of(&progress));
    cursor.reread_reasoning();
    let seen = cursor.next_reasoning(&subject(), &progress, Audience::User);
    assert_eq!(seen, None);
}

#[test]
fn a_reader_that_catches_up_receives_the_reasoning_before() {
    let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
    reason(&mut progress, "Hm.");
    progress.reply.text.push_str("One");
    let mut next = || cursor.next_reasoning(&subject(), &progress, Audience::Staff);
    assert_eq!(next().map(|delta| delta.text), Some("Hm.".to_owned()));
    assert_eq!(next(), None);
    assert_eq!(cursor.catch_up(&progress), "One");
    assert!(cursor.is_at_end_of(&progress));
}

#[test]
fn a_resumed_turn_has_the_reasoning_of_its_journal() {
    let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
    reason(&mut progress, "Lost with the process.");
    all(&mut cursor, &progress);
    let response = domain::ModelResponse {
        text: "One".to_owned(),
        reasoning: Some(Reasoning {
            text: "Hm.".to_owned(),
            shown_to: ShowReasoning::Staff,
        }),
        ..domain::ModelResponse::default()
    };
    let resumed = TurnStep::Resumed(domain::Resumption::after(&[], true));
    progress.reply = PartialReply::resumed(&[TurnStep::Model(response), resumed]);
    assert_eq!(all(&mut cursor, &progress), ["(0..3 Hm.)", "0..3 One"]);
    assert_eq!(progress.reply.reasoning.take_unrecorded(), None);
}
