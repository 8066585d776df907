//! Chats of which nothing is stored.

use domain::{ProblemCode, Role};
use serde_json::json;

use crate::{
    api_server::{ApiServer, id_of},
    engines::scripted_agent,
    raw::Connection,
    sse_client::EventStream,
    user_tokens::{BACKEND, backend, user},
};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_and_the_engine_receives_the_clients_history() {
    let (api, mut script, agent) = scripted_agent(json!({"history": {"maxMessages": 2}})).await;
    let head = api.reader().get("/api/events?since=0").await.ok()["headSeq"].clone();
    let body = json!({
        "agentId": agent, "store": false, "message": "And on Sundays?",
        "history": [
            {"role": "agent", "content": "Welcome"},
            {"role": "user", "content": "When do you open?"},
            {"role": "agent", "content": "From 9 to 18."},
        ],
    });
    let writer = api.writer();
    let (reply, history) = tokio::join!(writer.post("/api/chat", body), async {
        let call = script.next_call().await;
        let history = call.request.history.clone();
        call.answer("Never on Sundays.").await;
        history
    });
    let reply = reply.ok();
    assert_eq!(reply["message"], "Never on Sundays.");
    assert!(reply["conversationId"].is_null());
    let history: Vec<_> = history.iter().map(|it| (it.role, &*it.content)).collect();
    let expected = [
        (Role::User, "When do you open?"),
        (Role::Agent, "From 9 to 18."),
    ];
    assert_eq!(history, expected, "limited by the agent's configuration");
    let turn = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    api.reader()
        .get(&turn)
        .await
        .problem(ProblemCode::TurnNotFound);
    let events = api.reader().get("/api/events?since=0").await.ok();
    assert_eq!(events["headSeq"], head);
    let conversations = api.reader().get("/api/conversations").await.ok();
    assert_eq!(conversations["data"], json!([]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reply_is_streamed_without_a_conversation() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "store": false, "message": "Hello", "stream": true});
    let request = api.writer().request("POST", "/api/chat").json(&body);
    let mut stream = EventStream::open(request).await;
    let call = script.next_call().await;
    call.send_text("Hel").await;
    assert!(stream.next_of_type("turn.started").await["conversationId"].is_null());
    assert_eq!(stream.next_of_type("reply.delta").await["text"], "Hel");
    call.answer("lo").await;
    assert_eq!(stream.next_of_type("reply.delta").await["text"], "lo");
    let completed = stream.next_of_type("turn.completed").await;
    assert_eq!(completed["message"], "Hello");
    assert!(completed["conversationId"].is_null());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_connection_stops_the_engine() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    for stream in [true, false] {
        let body = json!({
            "agentId": agent, "store": false, "message": "Hello", "stream": stream,
        });
        let body = body.to_string();
        let mut connection = Connection::open(api.address).await;
        let head = format!(
            "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            api.writer().key(),
            body.len(),
        );
        connection.send(head).await;
        let call = script.next_call().await;
        call.send_text("Hel").await;
        drop(connection);
        call.wait_until_stopped().await;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_that_need_storage_are_rejected() {
    let (api, _script, agent) = scripted_agent(json!({})).await;
    for (member, value) in [
        ("conversationKey", json!("k")),
        (
            "conversationId",
            json!("019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11"),
        ),
        ("supersedes", json!("019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11")),
        ("title", json!("My order")),
        ("metadata", json!({"a": "b"})),
        ("onBusy", json!("reject")),
    ] {
        let mut body = json!({"agentId": agent, "store": false, "message": "Hello"});
        body[member] = value;
        let rejected = api.writer().post("/api/chat", body).await;
        let expected = (format!("/{member}"), "not_combinable".to_owned());
        assert_eq!(rejected.faults(), [expected]);
    }
    let body = json!({"agentId": agent, "store": false, "message": "Hello"});
    let request = api.writer().request("POST", "/api/chat").json(&body);
    let rejected = request.header("Prefer", "respond-async").send().await;
    rejected.problem(ProblemCode::InvalidHeader);
    let history = json!({
        "agentId": agent, "message": "Hello", "history": [{"role": "user", "content": "x"}],
    });
    let rejected = api.writer().post("/api/chat", history).await;
    assert_eq!(rejected.faults()[0].0, "/history");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_tools_that_change_nothing_are_called() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"agentId": agent, "store": false, "message": "Hello"});
    let writer = api.writer();
    let (reply, ()) = tokio::join!(writer.post("/api/chat", body), async {
        let call = script.next_call().await;
        let read = call.result_of("clock").await;
        assert_eq!(read, json!({"status": "ok", "data": "done"}));
        let refused = call.result_of("search").await;
        let why = "not available in an unrecorded chat";
        assert_eq!(refused, json!({"status": "unavailable", "error": why}));
        call.answer("Well.").await;
    });
    assert_eq!(reply.ok()["message"], "Well.");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_told_that_its_tool_is_not_available() {
    let api = ApiServer::start().await;
    let call = json!({"tool": "calculator", "arguments": {"expression": "2 + 3"}});
    let draft = json!({"name": "Ada", "config": {
        "engine": "rules",
        "tools": [{"name": "calculator", "approval": "always"}],
        "rules": [{"pattern": "sum", "call": call, "reply": "{{result}}."}],
    }});
    let agent = id_of(&api.agent(draft).await);
    let chat = json!({"agentId": agent, "store": false, "message": "The sum?"});
    let reply = api.chat(chat).await;
    assert_eq!(reply["message"], "not available in an unrecorded chat.");
    assert_eq!(reply["finishReason"], "stop");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_need_the_permission_of_the_agent_and_speak_for_themselves() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let said = |role: &str| json!({"role": role, "content": "One."});
    let body = |roles: &[&str]| {
        let history: Vec<_> = roles.iter().copied().map(said).collect();
        json!({"agentId": agent, "store": false, "message": "Two?", "history": history})
    };
    let fault = |pointer: &str| (pointer.to_owned(), "not_combinable".to_owned());
    let refused = ada.post("/api/chat", body(&["user", "agent"])).await;
    refused.problem(ProblemCode::ValidationFailed);
    assert_eq!(refused.faults(), ["/store", "/history/1/role"].map(fault));
    script.assert_no_more_calls();

    let path = format!("/api/agents/{agent}");
    let config = json!({"config": {"allowUnrecorded": true}});
    api.writer().patch(&path, config).await.ok();
    let refused = ada
        .post("/api/chat", body(&["agent", "user", "agent"]))
        .await;
    let expected = ["/history/0/role", "/history/2/role"].map(fault);
    assert_eq!(refused.faults(), expected);
    let mut foreign = body(&[]);
    foreign["userId"] = "bob".into();
    let refused = ada.post("/api/chat", foreign).await;
    assert_eq!(refused.faults(), [fault("/userId")]);
    for (caller, roles, named) in [
        (&ada, &["user", "user"][..], Some("ada")),
        (&backend, &["agent", "user", "agent"], None),
    ] {
        let (reply, shown) = tokio::join!(caller.post("/api/chat", body(roles)), async {
            let call = script.next_call().await;
            let request = &call.request;
            let shown = (request.history.len(), request.user_id.clone());
            call.answer("Three.").await;
            shown
        });
        assert_eq!(reply.ok()["message"], "Three.");
        assert_eq!(shown, (roles.len(), named.map(str::to_owned)));
    }
    api.stop().await;
}
