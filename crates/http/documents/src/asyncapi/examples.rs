//! One example of every message. Tests validate the examples against the schemas, and parse the
//! commands.

use domain::{Problem, ProblemCode};
use kit::problem::{ApiError, LimitPolicy, ProblemBody};
use serde_json::{Value, json};

const AGENT: &str = "01a1f9f5-e05d-732b-85dd-7c941357da9e";
const CONVERSATION: &str = "01a1f9f5-e2d1-72df-a85b-6cf3389d2850";
const TURN: &str = "01a1f9f5-e2d1-72df-a85b-6cf18c370782";
const USER_MESSAGE: &str = "01a1f9f5-e2d1-72df-a85b-6cf2a1f0c511";
const REPLY_MESSAGE: &str = "01a1f9f5-e2d1-72df-a85b-6cf45fd3719c";
const TIME: &str = "2026-11-20T09:30:00.000Z";

/// The examples of a command.
pub(super) fn command_examples(name: &str) -> Vec<Value> {
    match name {
        "connect" => vec![
            json!({"id": 1, "type": name, "channels": ["tenant"], "since": 41}),
            json!({"id": 1, "type": name, "token": "agk_…", "channels": []}),
        ],
        "subscribe" => [
            "tenant".to_owned(),
            format!("agent:{AGENT}"),
            conversation(),
        ]
        .into_iter()
        .map(|channel| json!({"id": 2, "type": name, "channel": channel}))
        .collect(),
        "unsubscribe" => vec![json!({"id": 3, "type": name, "channel": "tenant"})],
        "refresh" => vec![json!({"id": 4, "type": name, "token": "eyJ0eXAiOiJhdCtqd3Qi…"})],
        "chat" => vec![json!({
            "id": 5, "type": name, "agentId": AGENT, "message": "When do you open?",
            "idempotencyKey": "a7c1",
        })],
        "act" => vec![json!({"id": 7, "type": name, "turnId": TURN, "actions": [
            {"callId": format!("{TURN}-1"), "decision": "approve"},
        ]})],
        "cancel" => vec![json!({"id": 6, "type": name, "turnId": TURN})],
        "typing" => vec![json!({
            "id": 8, "type": name, "conversationId": CONVERSATION, "typing": true,
        })],
        _ => vec![json!({"id": 9, "type": name})],
    }
}

fn conversation() -> String {
    format!("conversation:{CONVERSATION}")
}

/// The example of the server's message `key`.
pub(super) fn frame_example(key: &str) -> Value {
    match key {
        "connectReply" => reply(1, &connected()),
        "subscribeReply" => reply(
            2,
            &json!({"channel": conversation(), "recovered": false, "headSeq": 43}),
        ),
        "turnReply" => reply(5, &json!({"turn": turn()})),
        "emptyReply" => reply(3, &json!({})),
        "errorReply" => json!({"type": "reply", "id": 6, "ok": false, "error": problem()}),
        "event" => json!({"type": "event", "channels": ["tenant"], "event": event()}),
        "caughtUp" => json!({"type": "caughtUp", "channel": "tenant", "seq": 43}),
        "resync" => json!({
            "type": "resync", "channel": "tenant", "firstSeq": 1200, "headSeq": 4711,
            "reason": "retention",
        }),
        "unsubscribed" => json!({
            "type": "unsubscribed", "channel": conversation(), "reason": "deleted",
        }),
        "serverPing" => json!({"type": "ping"}),
        "goodbye" => json!({
            "type": "goodbye", "code": 4200, "reason": "draining", "reconnectAfterMs": 420,
        }),
        "reasoningDelta" | "replyDelta" | "replySnapshot" | "toolCalled" | "toolReturned"
        | "typingUpdated" => {
            json!({"type": "live", "event": live(key)})
        }
        _ => stream_example(key),
    }
}

fn stream_example(key: &str) -> Value {
    match key {
        "logEvent" => event(),
        "logResync" => json!({"firstSeq": 1200, "headSeq": 4711}),
        "chatRequest" => json!({"agentId": AGENT, "message": "When do you open?", "stream": true}),
        "chatTurnStarted" => json!({
            "turnId": TURN, "conversationId": CONVERSATION, "messageId": USER_MESSAGE,
            "replyId": REPLY_MESSAGE,
            "agentId": AGENT, "agentVersion": 2,
        }),
        "chatReasoningDelta" => json!({
            "turnId": TURN, "conversationId": CONVERSATION, "from": 0, "to": 27,
            "text": "They ask for opening hours.",
        }),
        "chatReplyDelta" => json!({
            "turnId": TURN, "conversationId": CONVERSATION, "from": 0, "to": 11,
            "text": "We are open",
        }),
        "chatToolCalled" => json!({
            "turnId": TURN, "conversationId": CONVERSATION,
            "id": format!("{TURN}-1"), "at": 11,
            "name": "calculator", "arguments": {"expression": "17 * 24"},
        }),
        "chatToolReturned" => json!({
            "turnId": TURN, "conversationId": CONVERSATION,
            "id": format!("{TURN}-1"), "at": 11,
            "name": "calculator", "status": "ok", "durationMs": 1, "result": "408",
        }),
        "chatTurnCompleted" => json!({
            "message": "We are open from 9 to 18.", "conversationId": CONVERSATION,
            "turnId": TURN, "messageId": REPLY_MESSAGE, "agentId": AGENT, "agentVersion": 2,
            "engine": "rules", "model": null, "degraded": false, "finishReason": "stop", "usage": null,
            "createdAt": TIME,
        }),
        "chatTurnFailed" => json!({
            "turnId": TURN, "conversationId": CONVERSATION, "error": failure(),
        }),
        _ => json!({"turnId": TURN, "conversationId": CONVERSATION}),
    }
}

fn reply(id: u64, result: &Value) -> Value {
    json!({"type": "reply", "id": id, "ok": true, "result": result})
}

fn connected() -> Value {
    json!({
        "connectionId": "01a1f9f5-e58a-74d7-a55e-0dd5a40e9db2", "tenantId": "default",
        "headSeq": 43, "pingIntervalMs": 25000,
        "limits": socket::SOCKET_LIMITS,
        "channels": [{"channel": "tenant", "ok": true, "recovered": true}],
    })
}

fn turn() -> Value {
    json!({
        "id": TURN, "conversationId": CONVERSATION, "agentId": AGENT, "agentVersion": 2,
        "status": "in_progress", "input": "When do you open?", "reply": null, "engine": null, "model": null,
        "degraded": false, "finishReason": null, "usage": null, "error": null, "toolCalls": [],
        "metadata": {}, "createdAt": TIME, "startedAt": TIME, "finishedAt": null,
    })
}

fn event() -> Value {
    json!({
        "seq": 42, "id": "01a1f9f5-e05c-7580-b02b-5f18133a9293", "type": "agent.created",
        "time": TIME, "tenantId": "default", "agentId": AGENT, "actor": "key:7OiAipbd2WnE",
        "data": {"agent": {
            "id": AGENT, "name": "Ada", "personality": "", "capabilities": [], "config": {},
            "version": 1, "createdAt": TIME, "updatedAt": TIME,
        }},
    })
}

fn live(key: &str) -> Value {
    match key {
        "reasoningDelta" => json!({
            "type": "reasoning.delta", "turnId": TURN, "conversationId": CONVERSATION,
            "from": 0, "to": 27, "text": "They ask for opening hours.",
        }),
        "replyDelta" => json!({
            "type": "reply.delta", "turnId": TURN, "conversationId": CONVERSATION,
            "from": 0, "to": 11, "text": "We are open",
        }),
        "replySnapshot" => json!({
            "type": "reply.snapshot", "turnId": TURN, "conversationId": CONVERSATION,
            "to": 25, "text": "We are open from 9 to 18.",
        }),
        "toolCalled" => json!({
            "type": "tool.called", "turnId": TURN, "conversationId": CONVERSATION,
            "id": format!("{TURN}-1"), "at": 11,
            "name": "calculator", "arguments": {"expression": "17 * 24"},
        }),
        "toolReturned" => json!({
            "type": "tool.returned", "turnId": TURN, "conversationId": CONVERSATION,
            "id": format!("{TURN}-1"), "at": 11,
            "name": "calculator", "status": "ok", "durationMs": 1, "result": "408",
        }),
        _ => json!({
            "type": "typing.updated", "conversationId": CONVERSATION, "actor": "main~grace",
            "typing": true,
        }),
    }
}

fn problem() -> Value {
    let error = ApiError {
        retry_after: Some(1),
        violated_policy: Some(LimitPolicy::Commands),
        ..ApiError::new(ProblemCode::RateLimited)
    };
    let request_id = "01a1f9f5-e58a-74d7-a55e-0dd5a40e9db2-6".to_owned();
    json!(ProblemBody::on_socket(&error, request_id))
}

fn failure() -> Value {
    json!(Problem::new(ProblemCode::EngineFailed))
}
