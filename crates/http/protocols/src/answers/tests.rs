use domain::{ReplyDelta, ToolReturned};
use serde_json::json;

use super::*;

const TURN: &str = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";

fn delta(from: usize, text: &str) -> TurnEvent {
    TurnEvent::Delta(ReplyDelta {
        turn_id: TURN.parse().unwrap(),
        conversation_id: None,
        from,
        to: from + text.len(),
        text: text.to_owned(),
        attempt: None,
    })
}

#[test]
fn only_what_follows_is_new() {
    let calls = HashSet::from(["a".to_owned()]);
    let seen = Seen {
        reasoning: 0,
        text: 4,
        ended: calls.clone(),
        calls,
    };
    assert!(seen.has(&delta(0, "Let ")));
    assert!(!seen.has(&delta(4, "me")));
    let returned = |id: &str| {
        TurnEvent::ToolReturned(ToolReturned {
            turn_id: TURN.parse().unwrap(),
            conversation_id: None,
            id: id.to_owned(),
            at: 4,
            name: "clock".to_owned(),
            status: "ok".to_owned(),
            duration_ms: 1,
            result: None,
            needs: None,
            approver: None,
            expires_at: None,
        })
    };
    assert!(seen.has(&returned("a")));
    assert!(!seen.has(&returned("b")));
}

#[test]
fn the_id_of_a_call_names_its_turn() {
    assert_eq!(turn_of_call(&format!("{TURN}-12")), TURN.parse().ok());
    assert_eq!(turn_of_call("call_1"), None);
}

#[test]
fn only_answers_to_open_calls_are_used() {
    let call = |id: &str, needs: Option<&str>| -> ToolCall {
        let mut call = json!({
            "id": id, "name": "clock", "arguments": {}, "status": "waiting", "durationMs": 0,
        });
        if let Some(needs) = needs {
            call["needs"] = needs.into();
        }
        serde_json::from_value(call).unwrap()
    };
    let calls = [
        call("a", None),
        call("b", Some("approval")),
        call("c", Some("output")),
    ];
    let answer = |id: &str, action: Action| CallAnswer {
        call_id: id.to_owned(),
        action,
    };
    let output = Action::Output("4".to_owned());
    let answers = vec![
        answer("a", Action::Approve),
        answer("b", Action::Approve),
        answer("b", output.clone()),
        answer("c", output.clone()),
        answer("d", output.clone()),
    ];
    let expected = [answer("b", Action::Approve), answer("c", output)];
    assert_eq!(open_answers(answers, &calls), expected);
}
