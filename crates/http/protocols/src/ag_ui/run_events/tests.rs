use domain::{
    ConversationId, FinishReason, MessageId, ReasoningDelta, ToolCalled, ToolReturned, TurnPlace,
    Usage,
};
use serde_json::Map;
use uuid::Uuid;

use super::*;

fn turn_id() -> TurnId {
    "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11".parse().unwrap()
}

fn run(knows_outcomes: bool) -> Run {
    Run {
        thread: "t".to_owned(),
        id: "r".to_owned(),
        knows_outcomes,
        is_one_message: false,
    }
}

fn text(from: usize, text: &str) -> TurnEvent {
    TurnEvent::Delta(ReplyDelta {
        turn_id: turn_id(),
        conversation_id: None,
        from,
        to: from + text.len(),
        text: text.to_owned(),
        attempt: None,
    })
}

fn called(id: &str, at: usize) -> TurnEvent {
    TurnEvent::ToolCalled(ToolCalled {
        turn_id: turn_id(),
        conversation_id: None,
        id: id.to_owned(),
        at,
        name: "clock".to_owned(),
        arguments: Some(Map::new()),
        needs: None,
    })
}

fn returned(id: &str, at: usize) -> TurnEvent {
    TurnEvent::ToolReturned(ToolReturned {
        turn_id: turn_id(),
        conversation_id: None,
        id: id.to_owned(),
        at,
        name: "clock".to_owned(),
        status: "ok".to_owned(),
        duration_ms: 1,
        result: Some("noon".to_owned()),
        needs: None,
        approver: None,
        expires_at: None,
    })
}

fn completed() -> TurnEvent {
    TurnEvent::Completed(ChatReply {
        tool_calls: Vec::new(),
        message: "It is noon.".to_owned(),
        conversation_id: Some(ConversationId::new(Uuid::nil())),
        turn_id: turn_id(),
        message_id: Some(MessageId::new(Uuid::nil())),
        agent_id: domain::AgentId::new(Uuid::nil()),
        agent_version: 1,
        engine: Some("llm".to_owned()),
        model: Some("gpt".to_owned()),
        degraded: false,
        finish_reason: FinishReason::Stop,
        output: None,
        repaired: false,
        usage: Some(Usage {
            input_tokens: 2,
            output_tokens: 3,
            ..Usage::default()
        }),
        created_at: domain::Timestamp::from_milliseconds(0),
        seq: None,
    })
}

/// Two calls at the same position, whose live events overlap.
fn overlapping() -> Vec<TurnEvent> {
    vec![
        text(0, "Let "),
        text(4, "me see."),
        called("a", 11),
        called("b", 11),
        returned("a", 11),
        returned("b", 11),
        text(11, " It is noon."),
        completed(),
    ]
}

/// The same turn, as it is restored from the store.
fn restored() -> Vec<TurnEvent> {
    vec![
        text(0, "Let me see."),
        called("a", 11),
        returned("a", 11),
        called("b", 11),
        returned("b", 11),
        text(11, " It is noon."),
        completed(),
    ]
}

fn events(turn: Vec<TurnEvent>, received: Option<Received>) -> Vec<(Option<String>, Value)> {
    let mut events = RunEvents::new(run(true), turn_id(), received);
    for event in turn {
        events.add_turn_event(event);
    }
    assert!(events.has_ended);
    emitted(&mut events)
}

/// The ids and the data of the events that were emitted.
fn emitted(run: &mut RunEvents) -> Vec<(Option<String>, Value)> {
    let mut events = Events::default();
    run.take_into(&mut events);
    let text = String::from_utf8(events.take().to_vec()).unwrap();
    let event = |block: &str| {
        let (fields, data) = block.split_once("data: ").unwrap();
        let id = fields
            .strip_prefix("id: ")
            .map(|id| id.trim_end().to_owned());
        (id, serde_json::from_str(data).unwrap())
    };
    text.split_terminator("\n\n").map(event).collect()
}

/// Applies events as a client does: the text, and every part of a tool call.
fn applied(events: &[(Option<String>, Value)]) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut others = Vec::new();
    for (_, event) in events {
        if event["type"] == "TEXT_MESSAGE_CONTENT" {
            text.push_str(event["delta"].as_str().unwrap());
        } else {
            let call = event["toolCallId"].as_str().unwrap_or_default();
            others.push(format!("{} {call}", event["type"].as_str().unwrap()));
        }
    }
    others.sort();
    (text, others)
}

#[test]
fn text_is_closed_before_a_tool_is_called() {
    let events = events(restored(), None);
    let kinds: Vec<_> = events.iter().map(|(_, it)| it["type"].clone()).collect();
    assert_eq!(
        kinds,
        [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ]
    );
    let finished = &events.last().unwrap().1;
    assert_eq!(finished["outcome"], json!({"type": "success"}));
    assert_eq!(
        finished["usage"],
        json!([{"inputTokens": 2, "outputTokens": 3, "totalTokens": 5}])
    );
}

#[test]
fn ids_are_unique() {
    let mut ids: Vec<_> = events(overlapping(), None)
        .into_iter()
        .filter_map(|(id, _)| id)
        .collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn a_client_that_continues_after_any_event_receives_each_part_once() {
    let whole = applied(&events(restored(), None));
    for (before, after) in [
        (overlapping(), restored()),
        (restored(), overlapping()),
        (overlapping(), overlapping()),
    ] {
        let first = events(before, None);
        for cut in 1..first.len() {
            let mut received = first[..cut].to_vec();
            let last = received.iter().rev().find_map(|(id, _)| id.clone());
            let cursor: EventCursor = last.unwrap().parse().ok().unwrap();
            received.extend(events(after.clone(), Some(cursor.received)));
            assert_eq!(applied(&received), whole, "cut after {cut} events");
        }
    }
}

#[test]
fn a_cancelled_turn_is_an_error_to_clients_that_do_not_know_the_outcome() {
    for (knows_outcomes, kind) in [(true, "RUN_FINISHED"), (false, "RUN_ERROR")] {
        let mut events = RunEvents::new(run(knows_outcomes), turn_id(), None);
        events.add_turn_event(text(0, "half"));
        events.add_turn_event(TurnEvent::Cancelled(TurnPlace {
            turn_id: turn_id(),
            conversation_id: None,
            seq: None,
        }));
        let (_, data) = emitted(&mut events).pop().unwrap();
        assert_eq!(data["type"], kind);
        if knows_outcomes {
            assert_eq!(data["outcome"], json!({"type": "cancelled"}));
        } else {
            assert_eq!(data["code"], "turn_cancelled");
        }
    }
}

fn reasoning(from: usize, text: &str) -> TurnEvent {
    TurnEvent::Reasoning(ReasoningDelta {
        turn_id: turn_id(),
        conversation_id: None,
        from,
        to: from + text.len(),
        text: text.to_owned(),
        attempt: None,
    })
}

/// The types of the events about reasoning, and the reasoning.
fn reasoned(events: &[(Option<String>, Value)]) -> (Vec<&str>, String) {
    let events = events.iter().map(|(_, event)| event);
    let types = events
        .clone()
        .filter_map(|event| event["type"].as_str()?.strip_prefix("REASONING_"));
    let is_content = |event: &&Value| event["type"] == "REASONING_MESSAGE_CONTENT";
    let deltas = events.filter(is_content).map(|event| &event["delta"]);
    let text = deltas.map(|delta| delta.as_str().unwrap()).collect();
    (types.collect(), text)
}

#[test]
fn reasoning_is_in_messages_of_its_own_and_is_sent_once() {
    const MESSAGE: [&str; 5] = [
        "START",
        "MESSAGE_START",
        "MESSAGE_CONTENT",
        "MESSAGE_END",
        "END",
    ];
    let mut turn = vec![reasoning(0, "Hm.")];
    turn.extend(overlapping());
    turn.insert(7, reasoning(3, "\n\nSo."));
    let sent = events(turn, None);
    let (types, text) = reasoned(&sent);
    assert_eq!(
        (types, &*text),
        ([MESSAGE, MESSAGE].concat(), "Hm.So."),
        "{sent:?}"
    );
    let ids: Vec<_> = sent.iter().filter_map(|(id, _)| id.as_deref()).collect();
    assert!(
        ids[1].ends_with(":0:0.0.0.3") && ids[ids.len() - 1].ends_with(".8"),
        "{ids:?}"
    );
    // A client that has lost its stream after each event receives the rest.
    for (at, (id, _)) in sent.iter().enumerate() {
        let Some(Ok(cursor)) = id.as_deref().map(str::parse::<EventCursor>) else {
            continue;
        };
        let mut again = vec![reasoning(0, "Hm.\n\nSo.")];
        again.extend(restored());
        let rest = events(again, Some(cursor.received));
        let (_, before) = reasoned(&sent[..=at]);
        let (types, after) = reasoned(&rest);
        // Paragraphs are messages of their own while they arrive.
        let whole = (before + &after).replace("\n\n", "");
        assert_eq!(whole, "Hm.So.", "{id:?}");
        assert!(types.is_empty() || types == MESSAGE, "{types:?}");
    }
}
