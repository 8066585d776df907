use domain::{ToolCall, TurnId};
use ports::{ReplyPart, ToolReturn};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::fixture::subject;
use crate::{
    engines::{OpenCallStatus, ToolStep},
    live_turns::{Progress, ReplyCursor, ReplyPiece},
};

/// A step of an engine.
#[derive(Debug, Clone)]
enum Step {
    Text(String),
    Called,
    Returned,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => "[a\u{e9}\u{1f469}]{1,4}".prop_map(Step::Text),
        1 => Just(Step::Called),
        1 => Just(Step::Returned),
    ]
}

fn apply(progress: &mut Progress, turn: TurnId, step: Step) {
    let name = "time".to_owned();
    let tool = match step {
        Step::Text(text) => {
            assert!(progress.reply.push_text(&text));
            return;
        }
        Step::Called => ToolStep::Called {
            name,
            arguments: Map::new(),
        },
        Step::Returned if !has_open_call(progress) => return,
        Step::Returned => ToolStep::Returned(ToolReturn {
            name,
            arguments: json!({}),
            status: ToolCall::OK.to_owned(),
            duration_ms: 3,
            result: "noon".to_owned(),
        }),
    };
    assert!(progress.reply.push_tool_step(turn, tool));
}

fn has_open_call(progress: &Progress) -> bool {
    let calls = progress.reply.tool_calls(OpenCallStatus::Running);
    calls.iter().any(|call| call.status == "running")
}

fn parts(cursor: &mut ReplyCursor, progress: &Progress) -> Vec<ReplyPart> {
    std::iter::from_fn(|| cursor.next_part(progress)).collect()
}

/// The text of the remaining pieces, and the ids of their tool events.
fn read(cursor: &mut ReplyCursor, progress: &Progress) -> (String, Vec<(String, bool)>) {
    let (mut text, mut tools) = (String::new(), Vec::new());
    while let Some(piece) = cursor.next(&subject(), progress) {
        match piece {
            ReplyPiece::Delta(delta) => text.push_str(&delta.text),
            ReplyPiece::ToolCalled(call) => tools.push((call.id, false)),
            ReplyPiece::ToolReturned(call) => tools.push((call.id, true)),
        }
    }
    (text, tools)
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
        let (mut text, mut tools) = (String::new(), Vec::new());
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
            let (new_text, new_tools) = read(&mut reader, &remote);
            text.push_str(&new_text);
            tools.extend(new_tools);
        }
        let calls = source.reply.tool_calls(OpenCallStatus::Cut);
        remote.reply.complete_with(source.reply.text.clone(), calls.clone());
        let (new_text, new_tools) = read(&mut reader, &remote);
        text.push_str(&new_text);
        tools.extend(new_tools);
        prop_assert_eq!(&text, &source.reply.text);
        let events = |call: &ToolCall| [false, true].map(|has_ended| (call.id.clone(), has_ended));
        let mut expected: Vec<_> = calls.iter().flat_map(events).collect();
        expected.sort();
        tools.sort();
        prop_assert_eq!(tools, expected);
    }
}
