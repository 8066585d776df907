use domain::{
    AgentId, ConversationId, Event, EventData, EventType, PrincipalId, ProblemCode, ReplyDelta,
    Seq, Timestamp, TurnId,
};
use kit::problem::{ApiError, LimitPolicy, ProblemBody};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{super::*, SCHEMAS};
use crate::CloseCode;

/// Serializes a frame, and checks it against the published schema.
fn sent(frame: &ServerFrame) -> Value {
    let value: Value = serde_json::from_str(&encode(frame)).unwrap();
    assert_eq!(SCHEMAS.check("ServerFrame", &value), [], "{value}");
    value
}

fn event() -> Event {
    Event {
        seq: Seq(5),
        id: Uuid::nil(),
        kind: EventType::AgentUpdated,
        time: Timestamp::from_milliseconds(0),
        tenant_id: "default".parse().unwrap(),
        agent_id: Some(AgentId::new(Uuid::nil())),
        conversation_id: None,
        user_id: None,
        turn_id: None,
        actor: PrincipalId::new("key:1"),
        data: EventData::DELETED,
    }
}

fn reply(id: Option<u64>, result: Result<ReplyResult, ProblemBody>) -> ServerFrame {
    let ok = result.is_ok();
    let (result, error) = match result {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    ServerFrame::Reply(Box::new(ReplyFrame {
        id,
        ok,
        result,
        error,
    }))
}

#[test]
fn an_event_frame_matches_its_schema() {
    let agent = Channel::Agent(AgentId::new(Uuid::nil()));
    let conversation = Channel::Conversation(ConversationId::new(Uuid::nil()));
    for channels in [
        vec![],
        vec![Channel::Tenant],
        vec![Channel::Tenant, agent, conversation],
    ] {
        let envelope = serde_json::to_string(&event()).unwrap();
        let assembled = event_frame(channels.iter().copied(), &envelope);
        let value: Value = serde_json::from_str(&assembled).unwrap();
        let event = event();
        let frame = ServerFrame::Event(Box::new(EventFrame { channels, event }));
        assert_eq!(value, sent(&frame));
        assert_eq!(value["type"], "event");
    }
}

#[test]
fn a_reply_carries_a_result_or_an_error() {
    let empty = reply(Some(1), Ok(ReplyResult::Empty(EmptyResult {})));
    assert_eq!(
        sent(&empty),
        json!({"type": "reply", "id": 1, "ok": true, "result": {}})
    );
    let error = ApiError {
        retry_after: Some(3),
        violated_policy: Some(LimitPolicy::Chat),
        ..ApiError::new(ProblemCode::RateLimited)
    };
    let rejected = sent(&reply(
        None,
        Err(ProblemBody::on_socket(&error, "c-1".to_owned())),
    ));
    assert_eq!(rejected["id"], Value::Null);
    assert_eq!(rejected["ok"], false);
    assert_eq!(rejected["error"]["code"], "rate_limited");
    assert_eq!(rejected["error"]["status"], 429);
    assert_eq!(rejected["error"]["retryAfter"], 3);
    assert_eq!(rejected["error"]["violatedPolicies"], json!(["chat"]));
    assert_eq!(rejected["error"]["requestId"], "c-1");
    assert_eq!(
        rejected["error"]["detail"],
        "Wait for the seconds in `retryAfter`."
    );
    let unauthenticated = ApiError::new(ProblemCode::Unauthenticated);
    let unauthenticated = ProblemBody::on_socket(&unauthenticated, "c-2".to_owned());
    let rejected = sent(&reply(Some(2), Err(unauthenticated)));
    let detail = rejected["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("`connect`"), "{detail}");
}

#[test]
fn live_data_has_a_type() {
    let turn_id = TurnId::new(Uuid::nil());
    let conversation_id = ConversationId::new(Uuid::nil());
    let delta = LiveEvent::ReplyDelta(ReplyDelta {
        turn_id,
        conversation_id: Some(conversation_id),
        from: 2,
        to: 4,
        text: "ab".to_owned(),
        attempt: None,
    });
    let nil = Uuid::nil().to_string();
    assert_eq!(
        sent(&ServerFrame::Live { event: delta }),
        json!({"type": "live", "event": {
            "type": "reply.delta", "turnId": nil, "conversationId": nil,
            "from": 2, "to": 4, "text": "ab",
        }})
    );
    let snapshot = LiveEvent::ReplySnapshot {
        turn_id,
        conversation_id,
        to: 4,
        text: "abab".to_owned(),
        attempt: None,
    };
    let snapshot = sent(&ServerFrame::Live { event: snapshot });
    assert_eq!(snapshot["event"]["type"], "reply.snapshot");
    let typing = LiveEvent::TypingUpdated {
        conversation_id,
        actor: PrincipalId::new("ada"),
        typing: false,
    };
    assert_eq!(
        sent(&ServerFrame::Live { event: typing }),
        json!({"type": "live", "event": {
            "type": "typing.updated", "conversationId": nil, "actor": "ada", "typing": false,
        }})
    );
}

#[test]
fn channel_notices_match_their_schemas() {
    let channel = Channel::Agent(AgentId::new(Uuid::nil()));
    let name = format!("agent:{}", Uuid::nil());
    let caught_up = ServerFrame::CaughtUp {
        channel,
        seq: Seq(9),
    };
    assert_eq!(
        sent(&caught_up),
        json!({"type": "caughtUp", "channel": name, "seq": 9})
    );
    let resync = ServerFrame::Resync {
        channel,
        first_seq: Seq(4),
        head_seq: Seq(9),
        reason: ResyncReason::Retention,
    };
    assert_eq!(
        sent(&resync),
        json!({"type": "resync", "channel": name, "firstSeq": 4, "headSeq": 9, "reason": "retention"})
    );
    let unsubscribed = ServerFrame::Unsubscribed {
        channel,
        reason: UnsubscribeReason::Deleted,
    };
    assert_eq!(
        sent(&unsubscribed),
        json!({"type": "unsubscribed", "channel": name, "reason": "deleted"})
    );
}

#[test]
fn a_goodbye_contains_the_reconnect_delay() {
    let goodbye = |code: CloseCode| ServerFrame::Goodbye {
        code: code.number(),
        reason: code.reason(),
        reconnect_after_ms: code.reconnect_after_ms(0),
    };
    assert_eq!(
        sent(&goodbye(CloseCode::Overloaded)),
        json!({"type": "goodbye", "code": 4100, "reason": "overloaded", "reconnectAfterMs": 1000})
    );
    assert_eq!(
        sent(&goodbye(CloseCode::Revoked))["reconnectAfterMs"],
        Value::Null
    );
    assert_eq!(sent(&ServerFrame::Ping), json!({"type": "ping"}));
}
