//! The model's reasoning: who sees it, at every door.

use domain::ProblemCode;
use ports::ReplyError;
use serde_json::{Value, json};

use super::{doors::walk, reader::Reader, tools};
use crate::{
    api_server::{ApiServer, id_of},
    child_program,
    engines::{scripted_agent, turn},
    issuer::{ExternalIssuer, ProviderKind},
    script::Script,
    sockets::client::SocketClient,
    sse_client::EventStream,
    user_tokens::{BACKEND, backend, user},
};

/// An agent that shows its reasoning to these callers; by default to nobody.
async fn agent(api: &ApiServer, shown_to: Option<&str>) -> String {
    let mut draft = tools::draft();
    if let Some(shown_to) = shown_to {
        draft["config"]["llm"] = json!({"showReasoning": shown_to});
    }
    id_of(&api.agent(draft).await)
}

/// Asserts that a reader finds the reasoning at every door that shows it, or nowhere.
async fn assert_seen(api: &ApiServer, agent: &str, reader: &Reader, is_seen: bool) {
    for (door, text) in walk(api, agent, reader).await {
        let expected = is_seen && door.shows_reasoning();
        assert_eq!(
            text.contains(tools::REASONING),
            expected,
            "{door:?}: {text}"
        );
        assert!(text.contains("Done."), "{door:?}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_see_reasoning_for_staff_and_for_everyone() {
    for (shown_to, is_seen) in [
        (None, false),
        (Some("never"), false),
        (Some("staff"), true),
        (Some("everyone"), true),
    ] {
        let api = tools::server().await;
        let agent = agent(&api, shown_to).await;
        assert_seen(&api, &agent, &Reader::of(api.writer()), is_seen).await;
        api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn users_see_reasoning_for_everyone_only() {
    for (shown_to, is_seen) in [("never", false), ("staff", false), ("everyone", true)] {
        let api = tools::server().await;
        let agent = agent(&api, Some(shown_to)).await;
        let (_, backend) = backend(&api, BACKEND).await;
        let ada = Reader::of(user(&api, &backend, "ada").await);
        assert_seen(&api, &agent, &ada, is_seen).await;
        let named = Reader::naming(api.writer(), "grace");
        assert_seen(&api, &agent, &named, is_seen).await;
        api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn users_who_reach_all_conversations_see_reasoning_for_staff() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let api = tools::with_tools(issuer.trusting_server()).start().await;
    for (shown_to, sees) in [("never", [false, false]), ("staff", [true, false])] {
        let agent = agent(&api, Some(shown_to)).await;
        for (more, is_seen) in [" conversations:all", ""].into_iter().zip(sees) {
            let scope = format!("openid chat:write conversations:read{more}");
            let login = json!({"login": "auth0|ada", "scope": scope});
            let caller = api.caller(Some(issuer.issue_tokens(login).await.token()));
            let chat = json!({"agentId": agent, "message": "Hi"});
            let reply = caller.post("/api/chat", chat).await.ok();
            let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
            let turn = caller.get(&path).await;
            assert_eq!(turn.text().contains(tools::REASONING), is_seen, "{more}");
        }
    }
    api.stop().await;
}

/// The version of the agent that has replied decides.
#[tokio::test(flavor = "multi_thread")]
async fn a_later_configuration_reveals_no_reasoning() {
    let api = tools::server().await;
    let id = agent(&api, Some("staff")).await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let chat = json!({"agentId": id, "message": "Hi"});
    let reply = ada.post("/api/chat", chat).await.ok();
    let shown = json!({"config": {"llm": {"showReasoning": "everyone"}}});
    let path = format!("/api/agents/{id}");
    api.writer().patch(&path, shown).await.ok();
    let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    assert_eq!(ada.get(&path).await.ok().get("reasoning"), None);
    let seen = api.reader().get(&path).await.ok();
    let twice = [tools::REASONING; 2].join("\n\n");
    assert_eq!(seen["reasoning"], twice);
    api.stop().await;
}

async fn shown_to_everyone() -> (ApiServer, Script, String) {
    scripted_agent(json!({"llm": {"showReasoning": "everyone"}})).await
}

fn piece(event: &Value) -> (&Value, &Value, &Value) {
    (&event["from"], &event["to"], &event["text"])
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_is_streamed_with_positions_of_its_own() {
    let (api, mut script, agent) = shown_to_everyone().await;
    let chat = json!({"agentId": agent, "message": "Hi", "stream": true});
    let request = api.writer().request("POST", "/api/chat").json(&chat);
    let mut stream = EventStream::open(request).await;
    let call = script.next_call().await;
    let started = stream.next_of_type("turn.started").await;
    call.send_reasoning("Hé, ").await;
    let delta = stream.next_of_type("reasoning.delta").await;
    assert_eq!(
        delta,
        json!({
            "type": "reasoning.delta", "turnId": started["turnId"],
            "conversationId": started["conversationId"], "from": 0, "to": 5, "text": "Hé, ",
        })
    );
    call.send_reasoning("hm.").await;
    let delta = stream.next_of_type("reasoning.delta").await;
    assert_eq!(piece(&delta), (&json!(5), &json!(8), &json!("hm.")));
    // While it runs, the turn has it, too.
    let running = turn(&api, call.request.turn_id).await;
    assert_eq!(running["reasoning"], "Hé, hm.");
    call.send_text("Yes").await;
    let delta = stream.next_of_type("reply.delta").await;
    assert_eq!(piece(&delta), (&json!(0), &json!(3), &json!("Yes")));

    // Late readers receive it first.
    let id = started["conversationId"].as_str().unwrap();
    let path = format!("/api/conversations/{id}/stream");
    let mut follower = EventStream::open(api.reader().request("GET", &path)).await;
    follower.next_of_type("turn.started").await;
    let delta = follower.next_of_type("reasoning.delta").await;
    assert_eq!(piece(&delta), (&json!(0), &json!(8), &json!("Hé, hm.")));
    assert_eq!(follower.next_of_type("reply.delta").await["text"], "Yes");
    let mut socket = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    for _ in 0..2 {
        let live = socket.next_of_type("live").await["event"].clone();
        assert_eq!(live["type"], "reasoning.delta");
        assert_eq!(piece(&live), (&json!(0), &json!(8), &json!("Hé, hm.")));
        let live = socket.next_of_type("live").await["event"].clone();
        assert_eq!(live["type"], "reply.snapshot");
        // A repeated subscription receives both again.
        let again = json!({"channel": "tenant"});
        socket.expect_success("subscribe", again).await;
    }
    let turn_id = call.request.turn_id;
    call.end();
    let completed = stream.next_of_type("turn.completed").await;
    assert_eq!(completed["message"], "Yes");
    assert_eq!(completed.get("reasoning"), None);
    assert_eq!(turn(&api, turn_id).await["reasoning"], "Hé, hm.");
    drop(socket);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_and_cancelled_turns_keep_their_reasoning() {
    let (api, mut script, agent) = shown_to_everyone().await;
    let chat = json!({"agentId": agent, "message": "Hi"});
    let writer = api.writer();
    let (failed, id) = tokio::join!(writer.post("/api/chat", chat.clone()), async {
        let call = script.next_call().await;
        call.send_reasoning("Hm.").await;
        let id = call.request.turn_id;
        call.fail(ReplyError::Unavailable("gone".into()));
        id
    });
    failed.problem(ProblemCode::EngineUnavailable);
    let found = turn(&api, id).await;
    assert_eq!(
        (&found["status"], &found["reasoning"]),
        (&json!("failed"), &json!("Hm."))
    );

    let (cancelled, id) = tokio::join!(writer.post("/api/chat", chat), async {
        let call = script.next_call().await;
        call.send_reasoning("Hm, hm.").await;
        let id = call.request.turn_id;
        let path = format!("/api/turns/{id}/cancel");
        writer.request("POST", &path).send().await.ok();
        id
    });
    cancelled.problem(ProblemCode::TurnCancelled);
    let found = turn(&api, id).await;
    assert_eq!(
        (&found["status"], &found["reasoning"]),
        (&json!("cancelled"), &json!("Hm, hm."))
    );
    api.stop().await;
}

/// Reasoning is no output: a fallback may still reply. That of the failed attempt stays.
#[tokio::test(flavor = "multi_thread")]
async fn after_reasoning_alone_a_fallback_replies() {
    let (api, mut script, agent) = scripted_agent(json!({
        "llm": {"showReasoning": "staff"}, "fallbacks": ["rules"], "fallbackReply": "Sorry.",
    }))
    .await;
    let chat = json!({"agentId": agent, "message": "xyzzy"});
    let (reply, ()) = tokio::join!(api.chat(chat), async {
        let call = script.next_call().await;
        call.send_reasoning("Hm.").await;
        call.fail(ReplyError::Unavailable("gone".into()));
    });
    assert_eq!(
        (&reply["message"], &reply["degraded"]),
        (&json!("Sorry."), &json!(true))
    );
    let found = turn(&api, reply["turnId"].as_str().unwrap()).await;
    assert_eq!(found["reasoning"], "Hm.");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_long_reasoning_is_neither_sent_nor_stored() {
    let (api, mut script, agent) = shown_to_everyone().await;
    let chat = json!({"agentId": agent, "message": "Hi", "stream": true});
    let request = api.writer().request("POST", "/api/chat").json(&chat);
    let mut stream = EventStream::open(request).await;
    let call = script.next_call().await;
    for _ in 0..3 {
        call.send_reasoning(&"x".repeat(30_000)).await;
    }
    let id = call.request.turn_id;
    call.answer("Yes").await;
    let mut length = 0;
    for event in stream.remaining().await {
        if event.name == "reasoning.delta" {
            assert_eq!(event.data["from"], length);
            length = usize::try_from(event.data["to"].as_u64().unwrap()).unwrap();
        }
    }
    assert_eq!(length, 64 * 1024);
    let stored = turn(&api, id).await["reasoning"].as_str().unwrap().len();
    assert_eq!(stored, length);
    api.stop().await;
}

/// The reasoning before the calls and after them, however it was cut into parts.
fn assert_whole(shown: &Value) {
    let reasoning = shown["reasoning"].as_str().expect("reasoning");
    let parts: Vec<_> = reasoning.split_whitespace().collect();
    assert_eq!(parts.concat(), [tools::REASONING; 2].concat(), "{shown}");
    assert!(shown["text"].as_str().expect("text").ends_with("Done."));
}

#[tokio::test(flavor = "multi_thread")]
async fn official_clients_show_reasoning() {
    let api = tools::server().await;
    let agent = agent(&api, Some("everyone")).await;
    let url = format!("http://{}", api.address);
    let order = json!({"url": url, "key": api.writer().key(), "agent": agent});
    let received = child_program::run("ai_sdk/reasoning.mjs", &[], &order).await;
    for major in ["6", "7"] {
        for shown in received[major].as_array().expect("live and resumed") {
            assert_whole(shown);
            assert_eq!(shown["first"], "reasoning");
        }
    }
    let received = child_program::run("ag_ui/reasoning.mjs", &[], &order).await;
    for version in ["1.0.0", "0.0.59"] {
        let shown = &received[version];
        assert_whole(shown);
        let types = shown["types"].as_array().expect("types");
        assert_eq!(types.first(), Some(&json!("REASONING_START")));
        assert_eq!(types.last(), Some(&json!("REASONING_END")));
    }
    api.stop().await;
}
