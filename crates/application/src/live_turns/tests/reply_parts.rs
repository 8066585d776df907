use contract::fixture;
use domain::{Audience, ShowReasoning, ToolCall, ToolStep, TurnId};
use ports::ReplyPart;
use proptest::prelude::*;

use super::fixture::subject;
use crate::{
    engines::OpenCallStatus,
    live_turns::{Progress, ReplyCursor, ReplyPiece},
};

/// A step of an engine.
#[derive(Debug, Clone)]
enum Step {
    Reasoning(String),
    Text(String),
    Called,
    Returned,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => "[a\u{e9}\u{1f469}]{1,4}".prop_map(Step::Reasoning),
        3 => "[a\u{e9}\u{1f469}]{1,4}".prop_map(Step::Text),
        1 => Just(Step::Called),
        1 => Just(Step::Returned),
    ]
}

fn apply(progress: &mut Progress, turn: TurnId, step: Step) {
    let reply = &mut progress.reply;
    let applied = match step {
        Step::Reasoning(text) => reply.reasoning.push(&text, ShowReasoning::Everyone),
        Step::Text(text) => reply.push_text(&text),
        Step::Called => {
            let called = ToolStep {
                at: reply.text.len(),
                ..fixture::tool_step(&format!("{turn}-{}", reply.call_count() + 1))
            };
            reply.begin_call(&called).is_some()
        }
        Step::Returned => {
            let Some(call) = first_open_call(progress) else {
                return;
            };
            progress.reply.settle_call(call, &fixture::tool_end());
            progress.reply.end_call(call)
        }
    };
    assert!(applied);
}

fn first_open_call(progress: &Progress) -> Option<usize> {
    let calls = progress.reply.tool_calls(OpenCallStatus::Running);
    calls.iter().position(|call| call.status == "running")
}

fn parts(cursor: &mut ReplyCursor, progress: &Progress) -> Vec<ReplyPart> {
    std::iter::from_fn(|| cursor.next_part(progress)).collect()
}

/// The reasoning and the text of pieces, and the ids of their tool events.
#[derive(Default)]
struct Read {
    reasoning: String,
    text: String,
    tools: Vec<(String, bool)>,
}

impl Read {
    /// Adds the remaining pieces.
    fn add(&mut self, cursor: &mut ReplyCursor, progress: &Progress) {
        let Self {
            reasoning,
            text,
            tools,
        } = self;
        while let Some(piece) = cursor.next(&subject(), progress, Audience::User) {
            match piece {
                ReplyPiece::Reasoning(delta) => reasoning.push_str(&delta.text),
                ReplyPiece::Delta(delta) => text.push_str(&delta.text),
                ReplyPiece::ToolCalled(call) => tools.push((call.id, false)),
                ReplyPiece::ToolReturned(call) => tools.push((call.id, true)),
            }
        }
    }
}

fn text(cursor: &mut ReplyCursor, progress: &Progress) -> String {
    let mut read = Read::default();
    read.add(cursor, progress);
    read.text
}

proptest! {
    /// However parts are lost and repeated, another node ends with the same reply, and its readers
    /// receive every byte and every tool event once.
    #[test]
    fn lost_and_repeated_parts_do_not_change_a_reply(
        steps in prop::collection::vec(step(), 1..30),
        fates in prop::collection::vec(0..4_u8, 60),
    ) {
        let turn = subject().turn_id;
        let (mut source, mut remote) = (Progress::default(), Progress::default());
        let (mut sent, mut reader) = (ReplyCursor::default(), ReplyCursor::default());
        let mut read = Read::default();
        let mut fates = fates.into_iter().cycle();
        for step in steps {
            apply(&mut source, turn, step);
            for part in parts(&mut sent, &source) {
                let copies = match fates.next() {
                    Some(0) => 0,
                    Some(1) => 2,
                    _ => 1,
                };
                for _ in 0..copies {
                    if !remote.reply.push_part(part.clone()) {
                        sent = ReplyCursor::default();
                    }
                }
            }
            read.add(&mut reader, &remote);
        }
        let calls = source.reply.tool_calls(OpenCallStatus::Cut);
        remote.reply.complete_with(source.reply.text.clone(), calls.clone());
        remote.reply.take_stored_reasoning(source.reply.reasoning.to_stored());
        read.add(&mut reader, &remote);
        let Read { reasoning, text, mut tools } = read;
        prop_assert_eq!(&reasoning, source.reply.reasoning.text());
        prop_assert_eq!(&text, &source.reply.text);
        let events = |call: &ToolCall| [false, true].map(|has_ended| (call.id.clone(), has_ended));
        let mut expected: Vec<_> = calls.iter().flat_map(events).collect();
        expected.sort();
        tools.sort();
        prop_assert_eq!(tools, expected);
    }
}

#[test]
fn a_reply_that_another_process_has_stored_is_another_attempt_unless_it_continues_this_one() {
    for (sent, stored, expected, resumptions) in [
        ("One", "One, two", ", two", 0),
        ("One", "One", "", 0),
        ("", "One", "One", 0),
        ("One, two", "One", "One", 1),
        ("One, two", "One, three", "One, three", 1),
    ] {
        let (mut progress, mut reader) = (Progress::default(), ReplyCursor::default());
        assert!(progress.reply.push_text(sent));
        assert_eq!(text(&mut reader, &progress), sent);
        progress.reply.become_stored(stored.to_owned(), Vec::new());
        let rest = text(&mut reader, &progress);
        assert_eq!(
            (rest.as_str(), progress.resumptions()),
            (expected, resumptions)
        );
    }
}
