//! Whole replies, and errors.

use domain::{FinishReason, ProblemCode, Role, Scope, Usage};
use ports::ReplyError;
use serde_json::{Value, json};

use super::{ask, completion, error, ok};
use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    engines::scripted_agent,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_has_the_official_form() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let body = ask("Ada", "Hello");
    let (reply, turn_id) = tokio::join!(ok(completion(&writer, &body)), async {
        let call = script.next_call().await;
        let turn_id = call.request.turn_id;
        assert_eq!(call.request.agent.id.to_string(), agent);
        call.send_text("Good ").await;
        call.send_text("morning").await;
        let usage = Usage {
            input_tokens: 3,
            output_tokens: 2,
            ..Usage::default()
        };
        call.end_with(FinishReason::ContentFilter, Some(usage));
        turn_id
    });
    let created = turn_id.uuid().get_timestamp().expect("a time").to_unix().0;
    let expected = json!({
        "id": format!("chatcmpl-{turn_id}"), "object": "chat.completion", "created": created,
        "model": "Ada",
        "choices": [{
            "index": 0,
            "message": {
                "role": "assistant", "content": "Good morning", "refusal": null, "annotations": [],
            },
            "logprobs": null, "finish_reason": "content_filter",
        }],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    });
    assert_eq!(reply, expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_without_a_conversation_key() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let body = json!({
        "model": agent,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "One?"},
            {"role": "assistant", "content": "Two."},
            {"role": "user", "content": [{"type": "text", "text": "Three?"}]},
        ],
        "user": "ignored",
    });
    let request = completion(&writer, &body).header("X-User-Id", "grace");
    let (reply, ()) = tokio::join!(ok(request), async {
        let call = script.next_call().await;
        assert_eq!(&*call.request.message, "Three?");
        assert_eq!(call.request.user_id.as_deref(), Some("grace"));
        let history = call.request.history.iter();
        let history: Vec<_> = history.map(|it| (it.role, &*it.content)).collect();
        let expected = [
            (Role::User, "Be brief."),
            (Role::User, "One?"),
            (Role::Agent, "Two."),
        ];
        assert_eq!(history, expected);
        call.answer("Four.").await;
    });
    assert!(
        reply.get("usage").is_none(),
        "unknown token counts: {reply}"
    );
    let conversations = api.reader().get("/api/conversations").await.ok();
    assert_eq!(conversations["data"], json!([]));
    let turn = reply["id"].as_str().unwrap().replace("chatcmpl-", "");
    let turn = api.reader().get(&format!("/api/turns/{turn}")).await;
    turn.problem(ProblemCode::TurnNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_connection_cancels_a_completion_that_is_not_stored() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = ask(&agent, "Hello");
    let waiting = tokio::time::timeout(
        std::time::Duration::from_millis(300),
        completion(&api.writer(), &body).open(),
    );
    let (waited, call) = tokio::join!(waiting, script.next_call());
    assert!(waited.is_err(), "there is no reply");
    call.wait_until_stopped().await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_form_of_openai() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let writer = api.writer();
    let send = |body: Value| completion(&writer, &body);

    let unknown = error(send(ask("nobody", "a")), 404, ProblemCode::AgentNotFound).await;
    assert_eq!(
        (&unknown["param"], &unknown["type"]),
        (&json!("model"), &json!("invalid_request_error"))
    );
    let nil = uuid::Uuid::nil().to_string();
    error(send(ask(&nil, "a")), 404, ProblemCode::AgentNotFound).await;

    let mut body = ask(&agent, "a");
    body["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
    body["tool_choice"] = "auto".into();
    send(body.clone()).send().await.ok();
    body["tool_choice"] = "any".into();
    body["n"] = 2.into();
    let invalid = error(send(body), 400, ProblemCode::ValidationFailed).await;
    assert_eq!(invalid["param"], "tool_choice");
    let message = invalid["message"].as_str().unwrap();
    assert!(
        message.contains("tool_choice: ") && message.contains("; n: "),
        "{message}"
    );
    error(
        send(json!({"model": 5})),
        400,
        ProblemCode::ValidationFailed,
    )
    .await;
    let malformed = writer.request("POST", "/v1/chat/completions").body("{");
    error(malformed, 400, ProblemCode::MalformedJson).await;

    let anonymous = completion(&api.anonymous(), &ask(&agent, "a"));
    let denied = error(anonymous, 401, ProblemCode::Unauthenticated).await;
    assert_eq!(denied["type"], "authentication_error");
    let reader = completion(&api.reader(), &ask(&agent, "a"));
    error(reader, 403, ProblemCode::InsufficientScope).await;
    let other = writer.request("POST", "/v1/embeddings").json(&json!({}));
    error(other, 404, ProblemCode::RouteNotFound).await;
    let other = writer.request("DELETE", "/v1/models");
    error(other, 405, ProblemCode::MethodNotAllowed).await;
    let long = send(ask(&agent, &"x ".repeat(300_000)));
    error(long, 413, ProblemCode::BodyTooLarge).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_needs_only_the_scope_of_chats() {
    let api = ApiServer::start().await;
    api.agent_id().await;
    let chatter = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    ok(completion(&chatter, &ask("Ada", "Hello"))).await;
    let models = chatter.request("GET", "/v1/models");
    error(models, 403, ProblemCode::InsufficientScope).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_may_pass_is_repeated_by_clients() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = ask(&agent, "Hello");
    for (failure, status, code) in [
        (
            ReplyError::Unavailable("no".into()),
            503,
            ProblemCode::EngineUnavailable,
        ),
        (ReplyError::TimedOut, 504, ProblemCode::EngineTimeout),
        (
            ReplyError::Rejected("no".into()),
            502,
            ProblemCode::EngineFailed,
        ),
    ] {
        let writer = api.writer();
        let failing = error(completion(&writer, &body), status, code);
        tokio::join!(failing, async { script.next_call().await.fail(failure) });
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_of_chats_is_limited() {
    let builder = ApiServerBuilder::default().setting("LIMITS__CHAT__BURST", "1");
    let api = builder
        .setting("LIMITS__CHAT__PER_MINUTE", "1")
        .start()
        .await;
    let body = ask(&api.agent_id().await, "Hello");
    ok(completion(&api.writer(), &body)).await;
    let limited = completion(&api.writer(), &body);
    let limited = error(limited, 429, ProblemCode::RateLimited).await;
    assert_eq!(limited["type"], "rate_limit_error");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protocol_that_is_turned_off_does_not_exist() {
    let builder = ApiServerBuilder::default().setting("PROTOCOLS__OPENAI", "false");
    let api = builder.start().await;
    let body = ask(&api.agent_id().await, "Hello");
    let request = completion(&api.writer(), &body);
    error(request, 404, ProblemCode::RouteNotFound).await;
    api.stop().await;
}
