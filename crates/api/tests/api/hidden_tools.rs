//! Tools and calls that users may not see: nothing names them in responses to users.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    approvals::{actions, agent_with_calculator, decision, text},
    caller::Caller,
    engines::scripted_agent,
    script::Script,
    sse_client::EventStream,
    staff_approvals::{reported, staff},
    user_tokens::{BACKEND, backend, user},
};

/// The `continues` of the turn's events that a caller reads from the log, with their types.
async fn continued_in_log(caller: &Caller, turn: &Value) -> Vec<(String, Value)> {
    let page = caller.get("/api/events?since=0").await.ok();
    let events = page["data"].as_array().expect("a page").iter();
    let of_turn = events.filter(|event| event["data"]["turn"]["id"] == *turn);
    of_turn
        .map(|event| {
            let continued = event["data"]["turn"]["continues"].clone();
            (text(&event["type"]), continued)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continued_call_is_named_to_those_who_see_it() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let scopes = [
        Scope::ToolsApprove,
        Scope::ConversationsRead,
        Scope::EventsRead,
    ];
    let staff = api.caller_with_scopes(&scopes).await;
    for (visibility, is_shown) in [("status", true), ("none", false)] {
        let entry = json!({"approver": "staff", "visibility": visibility});
        let agent = agent_with_calculator(&api, entry).await;
        let chat = json!({"agentId": agent, "message": "What is 2 + 3?"});
        let id = text(&ada.post("/api/chat", chat).await.ok()["turnId"]);
        let decided = staff.post(&actions(&id), decision(&id, "approve")).await;
        let reported = reported(&api, &decided.json()).await;
        let whole = json!({"turnId": id, "callId": format!("{id}-1")});
        let without_call = json!({"turnId": id});
        assert_eq!(decided.json()["continues"], whole);
        assert_eq!(reported["continues"], whole);

        let path = format!("/api/turns/{}", text(&reported["id"]));
        let read = ada.get(&path).await.ok();
        let expected = if is_shown { &whole } else { &without_call };
        assert_eq!(read["continues"], *expected, "{visibility}");
        let calls = read["toolCalls"].as_array().expect("calls");
        assert_eq!(calls.len(), usize::from(is_shown));
        // A turn that has not begun shows no calls, and so names none.
        let logged = continued_in_log(&ada, &reported["id"]).await;
        let expected = [
            ("turn.started".to_owned(), without_call.clone()),
            ("turn.completed".to_owned(), expected.clone()),
        ];
        assert_eq!(logged, expected, "{visibility}");
        let logged = continued_in_log(&staff, &reported["id"]).await;
        assert_eq!(logged.len(), 2);
        assert!(logged.iter().all(|(_, continued)| *continued == whole));
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_start_of_a_stream_says_what_its_turn_continues() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let agent = agent_with_calculator(&api, json!({"approver": "staff"})).await;
    let chat = json!({"agentId": agent, "message": "What is 2 + 3?"});
    let path = "/api/chat";
    let mut own = EventStream::open(ada.request("POST", path).json(&with_stream(chat))).await;
    let started = own.next_of_type("turn.started").await;
    assert_eq!(started.get("continues"), None);
    let id = text(&started["turnId"]);
    own.remaining().await;
    let answers = with_stream(decision(&id, "approve"));
    let staff = staff(&api).await;
    let request = staff.request("POST", &actions(&id)).json(&answers);
    let started = EventStream::open(request)
        .await
        .next_of_type("turn.started")
        .await;
    let whole = json!({"turnId": id, "callId": format!("{id}-1")});
    assert_eq!(started["continues"], whole);
    let conversation = text(&started["conversationId"]);
    let path = format!("/api/conversations/{conversation}/stream");
    let mut followed = EventStream::open(ada.request("GET", &path)).await;
    let seen = followed.next_of_type("turn.started").await;
    assert_eq!(seen["turnId"], started["turnId"]);
    assert_eq!(seen["continues"], json!({"turnId": id}));
    api.stop().await;
}

fn with_stream(mut body: Value) -> Value {
    body["stream"] = true.into();
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_contains_the_calls_that_wait_for_staff() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    for visibility in ["full", "status", "none"] {
        let entry = json!({"approver": "staff", "visibility": visibility});
        let agent = agent_with_calculator(&api, entry).await;
        let chat = json!({"agentId": agent, "message": "What is 2 + 3?"});
        for (caller, is_user) in [(&ada, true), (&api.writer(), false)] {
            let reply = caller.post("/api/chat", chat.clone()).await.ok();
            assert_eq!(reply["finishReason"], "stop");
            let request = caller.request("POST", "/api/chat");
            let mut stream = EventStream::open(request.json(&with_stream(chat.clone()))).await;
            let last = stream.remaining().await.pop().expect("an end");
            assert_eq!(last.name, "turn.completed");
            for reply in [&reply, &last.data] {
                let calls = reply.get("toolCalls");
                if is_user && visibility == "none" {
                    assert_eq!(calls, None);
                    continue;
                }
                let call = &calls.expect("calls")[0];
                assert_eq!(
                    (&call["status"], &call["approver"], &call["needs"]),
                    (&json!("waiting"), &json!("staff"), &json!("approval"))
                );
                let sees_arguments = !is_user || visibility == "full";
                assert_eq!(call["arguments"].is_object(), sees_arguments, "{call}");
            }
        }
        // Nothing waits in other replies.
        let chat = json!({"agentId": agent, "message": "Hello"});
        let reply = api.writer().post("/api/chat", chat).await.ok();
        assert_eq!(reply.get("toolCalls"), None);
    }
    api.stop().await;
}

/// The functions that the model is offered in the next turn, each with whether it is one of the client.
async fn offered(script: &mut Script) -> Vec<(String, bool)> {
    let call = script.next_call().await;
    let tools = call.request.tools.iter();
    let offered = tools.map(|tool| (tool.function.clone(), tool.provider.is_none()));
    let offered = offered.collect();
    call.answer("Hello.").await;
    offered
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_not_told_that_the_name_of_their_tool_is_that_of_a_hidden_one() {
    let tools = json!([{"name": "clock", "visibility": "none", "approval": "never"}]);
    let config = json!({"allowClientTools": true, "tools": tools});
    let (api, mut script, agent) = scripted_agent(config).await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let chat = |names: &[&str]| {
        let tool = |name: &&str| json!({"name": name, "parameters": {"type": "object"}});
        let tools: Vec<_> = names.iter().map(tool).collect();
        json!({"agentId": agent, "message": "Hi", "clientTools": tools})
    };
    let names = ["clock", "open_cart"];
    let (replied, offered) =
        tokio::join!(ada.post("/api/chat", chat(&names)), offered(&mut script));
    replied.ok();
    for expected in [("clock", false), ("open_cart", true)] {
        let expected = (expected.0.to_owned(), expected.1);
        assert!(offered.contains(&expected), "{offered:?}");
    }
    let refused = ada.post("/api/chat", chat(&["clock", "sum"])).await;
    refused.problem(ProblemCode::ValidationFailed);
    let shown = (
        "/clientTools/1/name".to_owned(),
        "duplicate_item".to_owned(),
    );
    assert_eq!(refused.faults(), [shown]);
    let refused = api.writer().post("/api/chat", chat(&names)).await;
    refused.problem(ProblemCode::ValidationFailed);
    let hidden = (
        "/clientTools/0/name".to_owned(),
        "duplicate_item".to_owned(),
    );
    assert_eq!(refused.faults(), [hidden]);
    api.stop().await;
}
