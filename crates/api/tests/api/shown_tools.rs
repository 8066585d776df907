//! Tests of the visibility of tool calls and of reasoning to users, in every interface that returns them.

mod doors;
mod reader;
mod reasoning;
mod tools;

use serde_json::{Value, json};

use self::{doors::walk, reader::Reader, tools::start};
use crate::{
    api_server::id_of,
    engines::scripted_agent,
    issuer::{ExternalIssuer, ProviderKind},
    sockets::client::SocketClient,
    user_tokens::{BACKEND, backend, user},
};

/// The part of the calls of one tool that a text contains.
#[derive(Debug, PartialEq, Eq)]
enum Shown {
    Everything,
    Status,
    Nothing,
}

fn shown(text: &str, tool: &str) -> Shown {
    let parts = ["argument", "result"].map(|part| text.contains(&tools::marker(part, tool)));
    match (parts, text.contains(&format!("{tool}-tool"))) {
        ([true, true], _) => Shown::Everything,
        ([false, false], true) => Shown::Status,
        ([false, false], false) => Shown::Nothing,
        _ => panic!("a part of {tool}: {text}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_user_sees_what_is_not_shown_to_users_at_any_door() {
    let (api, agent) = start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let named = Reader::naming(api.writer(), "grace");
    for reader in [Reader::of(ada), named] {
        for (door, text) in walk(&api, &agent, &reader).await {
            if door.shows_calls() {
                assert_eq!(shown(&text, "notes"), Shown::Everything, "{door:?}");
                assert_eq!(shown(&text, "orders"), Shown::Status, "{door:?}");
            } else {
                assert_eq!(shown(&text, "notes"), Shown::Nothing, "{door:?}");
                assert_eq!(shown(&text, "orders"), Shown::Nothing, "{door:?}");
            }
            assert_eq!(shown(&text, "audit"), Shown::Nothing, "{door:?}: {text}");
            assert!(text.contains("Done."), "{door:?}: {text}");
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_see_everything_at_every_door_that_shows_calls() {
    let (api, agent) = start().await;
    for (door, text) in walk(&api, &agent, &Reader::of(api.writer())).await {
        let expected = if door.shows_calls() {
            Shown::Everything
        } else {
            Shown::Nothing
        };
        for tool in tools::NAMES {
            assert_eq!(shown(&text, tool), expected, "{door:?}: {text}");
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_names_its_user_shows_what_the_user_sees() {
    let (api, agent) = start().await;
    let chat = json!({"agentId": agent, "message": "Hi", "stream": true, "userId": "ada"});
    let writer = Reader::of(api.writer());
    let streamed = writer.text("POST", "/api/chat", Some(&chat)).await;
    assert_eq!(shown(&streamed, "orders"), Shown::Status);
    assert_eq!(shown(&streamed, "audit"), Shown::Nothing);
    let unrecorded =
        json!({"agentId": agent, "message": "Hi", "stream": true, "userId": "ada", "store": false});
    let streamed = writer.text("POST", "/api/chat", Some(&unrecorded)).await;
    assert_eq!(shown(&streamed, "orders"), Shown::Status);
    assert_eq!(shown(&streamed, "audit"), Shown::Nothing);
    // A repeated chat is answered with its turn.
    let chat = json!({"agentId": agent, "message": "Hi", "userId": "ada"});
    let send = || {
        let request = api.writer().request("POST", "/api/chat");
        request.header("Idempotency-Key", "k").json(&chat)
    };
    send().send().await.ok();
    let repeated = send().header("Prefer", "respond-async").send().await;
    assert_eq!(repeated.status, 202);
    assert_eq!(shown(repeated.text(), "orders"), Shown::Status);
    assert_eq!(shown(repeated.text(), "audit"), Shown::Nothing);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_configuration_does_not_reveal_old_results() {
    let (api, agent) = start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let chat = json!({"agentId": agent, "message": "Hi"});
    let reply = ada.post("/api/chat", chat.clone()).await.ok();
    let entries = tools::NAMES.map(|name| {
        let name = format!("{name}-tool");
        json!({"name": name, "visibility": "full", "approval": "never"})
    });
    let config = json!({"config": {"tools": entries}});
    let path = format!("/api/agents/{agent}");
    api.writer().patch(&path, config).await.ok();
    let turn = |reply: &Value| format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    let old = ada.get(&turn(&reply)).await;
    assert_eq!(shown(old.text(), "orders"), Shown::Status);
    assert_eq!(shown(old.text(), "audit"), Shown::Nothing);
    let call = &old.json()["toolCalls"][1];
    assert_eq!(
        (&call["arguments"], &call["result"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&call["name"], &call["status"]),
        (&json!("orders-tool"), &json!("ok"))
    );
    let reply = ada.post("/api/chat", chat).await.ok();
    let new = ada.get(&turn(&reply)).await;
    for tool in tools::NAMES {
        assert_eq!(shown(new.text(), tool), Shown::Everything);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_who_reach_all_conversations_see_all_calls() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let api = tools::with_tools(issuer.trusting_server()).start().await;
    let agent = id_of(&api.agent(tools::draft()).await);
    let scope = "openid chat:write conversations:read conversations:all";
    let login = json!({"login": "auth0|ada", "scope": scope});
    let minted = issuer.issue_tokens(login).await;
    let staff = api.caller(Some(minted.token()));
    let chat = json!({"agentId": agent, "message": "Hi"});
    let reply = staff.post("/api/chat", chat).await.ok();
    let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    let turn = staff.get(&path).await;
    for tool in tools::NAMES {
        assert_eq!(shown(turn.text(), tool), Shown::Everything);
    }
    api.stop().await;
}

/// The next tool events of a socket: their types, names, and arguments or results.
async fn live_tools(socket: &mut SocketClient, count: usize) -> Vec<Value> {
    let mut tools = Vec::new();
    while tools.len() < count {
        let is_tool = |frame: &Value| {
            let kind = frame["event"]["type"].as_str().unwrap_or_default();
            frame["type"] == "live" && kind.starts_with("tool.")
        };
        let event = socket.find(is_tool).await["event"].clone();
        let content = event.get("arguments").or(event.get("result"));
        tools.push(json!([event["type"], event["name"], content]));
    }
    tools
}

#[tokio::test(flavor = "multi_thread")]
async fn live_data_shows_what_the_reader_sees() {
    let entries = json!([
        {"name": "clock", "visibility": "full", "approval": "never"},
        {"name": "sum", "visibility": "none", "approval": "never"},
    ]);
    let (api, mut script, agent) = scripted_agent(json!({"tools": entries})).await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let mut of_ada = SocketClient::connected(&api, &ada, &["tenant"]).await;
    let mut of_key = SocketClient::connected(&api, &api.writer(), &["tenant"]).await;
    let named = Reader::naming(api.writer(), "ada");
    let mut of_named = named.socket(&api, "/api/ws").await;
    of_named.connect(json!({"channels": ["tenant"]})).await;
    let chat = json!({"agentId": agent, "message": "Hi"});
    let sent = of_ada.expect_success("chat", chat).await;
    let call = script.next_call().await;
    for tool in ["sum", "search", "clock"] {
        call.use_tool(tool, json!({"of": tool})).await;
    }
    let whole = |tool: &str| {
        let called = json!(["tool.called", tool, {"of": tool}]);
        [called, json!(["tool.returned", tool, "done"])]
    };
    let reduced = ["tool.called", "tool.returned"].map(|kind| json!([kind, "search", null]));
    let of_user = [reduced, whole("clock")].concat();
    assert_eq!(live_tools(&mut of_ada, 4).await, of_user);
    assert_eq!(live_tools(&mut of_named, 4).await, of_user);
    let all = ["sum", "search", "clock"].map(whole).concat();
    assert_eq!(live_tools(&mut of_key, 6).await, all);
    // The turn that runs has them, too.
    let path = format!("/api/turns/{}", sent["turn"]["id"].as_str().unwrap());
    let shown_names = |turn: &Value| -> Vec<Value> {
        let calls = turn["toolCalls"].as_array().unwrap().iter();
        calls.map(|call| call["name"].clone()).collect()
    };
    assert_eq!(shown_names(&ada.get(&path).await.ok()), ["search", "clock"]);
    let seen_by_key = shown_names(&api.reader().get(&path).await.ok());
    assert_eq!(seen_by_key, ["sum", "search", "clock"]);
    call.answer("Done.").await;
    of_ada.events_to("turn.completed").await;
    drop((of_ada, of_key, of_named));
    api.stop().await;
}
