use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::{ModelResponse, Repetition, ToolCall, ToolEnd, ToolStep};

const OWN: u128 = 1;
const ORIGINAL: u128 = 2;
/// The position of the message that is answered now.
const NOW: i64 = 100;

fn conversation(id: u128) -> ConversationId {
    ConversationId::new(Uuid::from_u128(id))
}

fn turn_id(number: u128) -> TurnId {
    TurnId::new(Uuid::from_u128(number))
}

/// A message of a turn, with the position of the user's message.
fn message(seq: i64, role: Role, text: &str, (turn, message_seq): (u128, i64)) -> WindowMessage {
    WindowMessage {
        message: HistoryMessage::new(seq, role, text.to_owned()),
        turn: Some(MessageTurn {
            id: turn_id(turn),
            conversation: conversation(OWN),
            message_seq,
            seq,
        }),
    }
}

fn user(seq: i64, text: &str, turn: u128) -> WindowMessage {
    message(seq, Role::User, text, (turn, seq))
}

fn reply(seq: i64, text: &str, turn: (u128, i64)) -> WindowMessage {
    message(seq, Role::Agent, text, turn)
}

fn call(id: &str, at: usize, repetition: Repetition, end: Option<&str>) -> TurnStep {
    TurnStep::Tool(ToolStep {
        call_id: id.to_owned(),
        name: "shop/refund".to_owned(),
        function: "shop_refund".to_owned(),
        arguments: "{}".to_owned(),
        at,
        visibility: None,
        repetition,
        wait: None,
        timeout_ms: None,
        end: end.map(|result| ToolEnd::new(ToolCall::OK, result.to_owned(), Duration::ZERO)),
    })
}

fn response(text: &str) -> TurnStep {
    TurnStep::Model(ModelResponse {
        reasoning: None,
        engine: "llm".to_owned(),
        model: None,
        requests: Vec::new(),
        is_draft: false,
        text: text.to_owned(),
        state: Some(1.into()),
    })
}

/// A turn that made an act, and then a harmless call.
fn acted(number: u128, message_seq: i64, status: TurnStatus) -> PastTurn {
    PastTurn {
        id: turn_id(number),
        conversation: conversation(OWN),
        message_seq,
        status,
        input: format!("message {message_seq}"),
        journal: vec![
            response("Wait."),
            call(&format!("act {number}"), 5, Repetition::Acts, Some("done")),
            call(
                &format!("look {number}"),
                5,
                Repetition::Harmless,
                Some("seen"),
            ),
        ],
        is_retried: false,
        is_repeated: false,
        has_same_agent: true,
    }
}

/// Returns the history as lines: the position, the role, the text, the ids of the calls and the end.
fn shown(messages: Vec<WindowMessage>, turns: Vec<PastTurn>) -> Vec<String> {
    shown_with(true, messages, turns)
}

fn shown_with(
    has_tool_results: bool,
    messages: Vec<WindowMessage>,
    turns: Vec<PastTurn>,
) -> Vec<String> {
    let window = HistoryWindow {
        conversation: conversation(OWN),
        before: NOW,
        has_tool_results,
        messages,
    };
    assemble(window, turns).iter().map(line).collect()
}

fn line(message: &HistoryMessage) -> String {
    let HistoryMessage {
        seq, role, content, ..
    } = message;
    let calls = message.calls.as_ref().map(|calls| {
        let ids = calls.steps.iter().flat_map(|step| &step.calls);
        let ids: Vec<_> = ids.map(|call| call.call_id.as_str()).collect();
        let ending = calls.ending.map(|end| format!(" {end:?}"));
        format!(" [{}]{}", ids.join(", "), ending.unwrap_or_default())
    });
    format!(
        "{seq} {} {content}{}",
        role.as_str(),
        calls.unwrap_or_default()
    )
}

#[test]
fn a_reply_has_the_calls_of_its_turn() {
    let messages = || vec![user(1, "message 1", 1), reply(2, "Wait.\n\nDone.", (1, 1))];
    let turns = || vec![acted(1, 1, TurnStatus::Completed)];
    let expected = ["1 user message 1", "2 agent Wait.\n\nDone. [act 1, look 1]"];
    assert_eq!(shown(messages(), turns()), expected);
    let without = ["1 user message 1", "2 agent Wait.\n\nDone."];
    assert_eq!(shown_with(false, messages(), turns()), without);
}

#[test]
fn responses_have_their_texts_and_no_data_of_engines() {
    let window = HistoryWindow {
        conversation: conversation(OWN),
        before: NOW,
        has_tool_results: true,
        messages: vec![reply(2, "Wait.\n\nDone.", (1, 1))],
    };
    let history = assemble(window, vec![acted(1, 1, TurnStatus::Completed)]);
    let calls = history[0].calls.as_ref().unwrap();
    assert_eq!(calls.text_bytes, 5);
    assert_eq!(calls.steps[0].response.text, "Wait.");
    assert_eq!(calls.steps[0].response.state, None);
}

#[test]
fn an_open_call_has_an_unknown_outcome_and_a_result_is_cut() {
    let mut turn = acted(1, 1, TurnStatus::Failed);
    let long = "é".repeat(3_000);
    turn.journal = vec![
        response(""),
        call("a", 0, Repetition::Acts, None),
        call("b", 0, Repetition::Acts, Some(&long)),
    ];
    let window = HistoryWindow {
        conversation: conversation(OWN),
        before: NOW,
        has_tool_results: true,
        messages: vec![user(1, "message 1", 1)],
    };
    let history = assemble(window, vec![turn]);
    let calls = &history[0].calls.as_ref().unwrap().steps[0].calls;
    let ends: Vec<_> = calls.iter().filter_map(|call| call.end.as_ref()).collect();
    assert_eq!(ends[0].status, ToolCall::OUTCOME_UNKNOWN);
    assert_eq!((ends[1].result.len(), ends[1].is_cut), (4_096, true));
}

#[test]
fn only_acts_of_turns_without_a_reply_are_shown() {
    for (status, ending) in [
        (TurnStatus::Failed, "Failed"),
        (TurnStatus::Cancelled, "Cancelled"),
        (TurnStatus::Completed, "LeftOut"),
    ] {
        let messages = vec![user(1, "message 1", 1)];
        let expected = format!("1 user message 1 [act 1] {ending}");
        assert_eq!(
            shown_with(false, messages, vec![acted(1, 1, status)]),
            [expected]
        );
    }
    let mut harmless = acted(1, 1, TurnStatus::Cancelled);
    harmless.journal.remove(1);
    let messages = vec![user(1, "message 1", 1)];
    assert_eq!(shown(messages, vec![harmless]), ["1 user message 1"]);
}

#[test]
fn a_cancelled_reply_says_so_if_a_call_may_have_acted() {
    let messages = || vec![user(1, "message 1", 1), reply(2, "Wait.", (1, 1))];
    let turn = || vec![acted(1, 1, TurnStatus::Cancelled)];
    assert_eq!(
        shown(messages(), turn())[1],
        "2 agent Wait. [act 1, look 1] Cancelled"
    );
    assert_eq!(
        shown_with(false, messages(), turn())[1],
        "2 agent Wait. [act 1] Cancelled"
    );
}

#[test]
fn acts_for_the_message_that_is_answered_now_come_last() {
    let messages = || vec![user(1, "message 1", 1), reply(2, "Hi", (1, 1))];
    let turns = vec![
        acted(2, NOW, TurnStatus::Failed),
        acted(3, NOW, TurnStatus::Completed),
    ];
    assert_eq!(shown(messages(), turns)[2], "100 user  [act 2, act 3]");
    // An edit without a change of the text.
    let repeated = PastTurn {
        is_repeated: true,
        ..acted(2, 3, TurnStatus::Completed)
    };
    assert_eq!(shown(messages(), vec![repeated])[2], "100 user  [act 2]");
}

#[test]
fn data_of_an_engine_stays_with_the_same_agent_and_all_calls() {
    let history = |has_same_agent, is_whole: bool| {
        let mut turn = acted(2, NOW, TurnStatus::Failed);
        turn.has_same_agent = has_same_agent;
        turn.journal.truncate(if is_whole { 2 } else { 3 });
        let window = HistoryWindow {
            conversation: conversation(OWN),
            before: NOW,
            has_tool_results: true,
            messages: Vec::new(),
        };
        let history = assemble(window, vec![turn]);
        let response = history[0].calls.as_ref().unwrap().steps[0].response.clone();
        (response.engine, response.state.is_some())
    };
    assert_eq!(history(true, true), ("llm".to_owned(), true));
    assert_eq!(history(true, false), ("llm".to_owned(), false));
    assert_eq!(history(false, true), (String::new(), false));
}

#[test]
fn a_superseded_report_of_a_decision_is_shown_as_a_note() {
    let report = PastTurn {
        input: String::new(),
        ..acted(1, 1, TurnStatus::Completed)
    };
    let shown = shown(vec![user(3, "other", 2)], vec![report]);
    assert!(
        shown[0].starts_with("1 user [Note of the operator"),
        "{shown:?}"
    );
    assert!(shown[0].ends_with("[act 1] Withdrawn"), "{shown:?}");
}

#[test]
fn a_superseded_message_is_shown_before_the_one_that_replaced_it() {
    let edited = || acted(1, 1, TurnStatus::Completed);
    let messages = || vec![user(3, "other", 2), reply(4, "Hi", (2, 3))];
    assert_eq!(
        shown(messages(), vec![edited()]),
        [
            "1 user message 1 [act 1] Withdrawn",
            "3 user other",
            "4 agent Hi"
        ]
    );
    assert_eq!(
        shown(Vec::new(), vec![edited()]),
        ["1 user message 1 [act 1] Withdrawn"],
        "the next message is answered now"
    );
    let same = || vec![user(3, "message 1", 2), reply(4, "Hi", (2, 3))];
    assert_eq!(
        shown(same(), vec![edited(), acted(2, 3, TurnStatus::Completed)]),
        ["3 user message 1", "4 agent Hi [act 1, act 2, look 2]"],
        "with the same text, it is the same message"
    );
}

/// The reply at 2 was generated again, as 5, after a message at 3 and its reply.
#[test]
fn a_reply_that_is_generated_again_has_the_acts_of_those_before() {
    let messages = vec![user(1, "message 1", 3), reply(5, "Hi", (3, 1))];
    let turns = vec![
        acted(1, 1, TurnStatus::Completed),
        acted(3, 1, TurnStatus::Completed),
        acted(2, 3, TurnStatus::Completed),
    ];
    assert_eq!(
        shown(messages, turns),
        [
            "3 user message 3 [act 2] Withdrawn",
            "1 user message 1",
            "5 agent Hi [act 1, act 3, look 3]",
        ]
    );
}

#[test]
fn copied_messages_have_the_acts_of_the_original() {
    let copied = |seq, role, text: &str, (turn, message_seq, original)| WindowMessage {
        message: HistoryMessage::new(seq, role, text.to_owned()),
        turn: Some(MessageTurn {
            id: turn_id(turn),
            conversation: conversation(ORIGINAL),
            message_seq,
            seq: original,
        }),
    };
    let of_original = |number, message_seq, status| PastTurn {
        conversation: conversation(ORIGINAL),
        ..acted(number, message_seq, status)
    };
    let messages = vec![
        copied(1, Role::User, "message 3", (2, 3, 3)),
        copied(2, Role::Agent, "Hi", (2, 3, 4)),
        copied(3, Role::User, "message 5", (3, 5, 5)),
        user(4, "message 4", 4),
    ];
    let turns = vec![
        of_original(1, 1, TurnStatus::Completed),
        of_original(2, 3, TurnStatus::Completed),
        of_original(3, 5, TurnStatus::Completed),
        acted(4, 4, TurnStatus::Failed),
    ];
    assert_eq!(
        shown(messages, turns),
        [
            "0 user message 1 [act 1] Withdrawn",
            "1 user message 3",
            "2 agent Hi [act 2, look 2]",
            "3 user message 5 [act 3] LeftOut",
            "4 user message 4 [act 4] Failed",
        ]
    );
}
