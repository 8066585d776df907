//! Replies by a schema.

use std::collections::VecDeque;

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    engines::{contents, scripted_agent},
    response::Request,
    script::scripted,
    sse_client::EventStream,
    told_engine::{schema, told, told_agent},
    user_tokens::{BACKEND, backend, user},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_output_is_on_the_reply_the_turn_the_message_and_the_event() {
    let (api, engine, agent) = told_agent(json!({"responseSchema": schema()})).await;
    let message = told(&[("{\"a\": 7}", "stop")]);
    let reply = api
        .chat(json!({"agentId": agent, "message": message}))
        .await;
    let expected = json!({"a": 7});
    assert_eq!(
        (&reply["output"], &reply["message"]),
        (&expected, &json!("{\"a\": 7}"))
    );
    assert!(reply.get("repaired").is_none());
    let sent = engine.requests.lock()[0].response_schema.clone();
    assert_eq!(sent.unwrap().value(), &schema());

    let turn = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    let turn = api.reader().get(&turn).await.ok();
    assert_eq!(
        (&turn["output"], &turn["reply"]["output"]),
        (&expected, &expected)
    );
    let conversation = reply["conversationId"].as_str().unwrap();
    let messages = format!("/api/conversations/{conversation}/messages");
    let messages = api.reader().get(&messages).await.ok();
    assert_eq!(messages["data"][1]["output"], expected);
    let events = api.reader().get("/api/events?since=0&limit=100").await.ok();
    let completed = events["data"].as_array().unwrap().iter();
    let completed = completed.filter(|event| event["type"] == "turn.completed");
    let outputs: Vec<_> = completed
        .map(|it| it["data"]["turn"]["output"].clone())
        .collect();
    assert_eq!(outputs, [expected]);

    // A fork copies it.
    let fork = json!({"forkOf": {"conversationId": conversation}});
    let fork = api.conversation(fork).await;
    let messages = format!(
        "/api/conversations/{}/messages",
        fork["id"].as_str().unwrap()
    );
    let messages = api.reader().get(&messages).await.ok();
    assert_eq!(messages["data"][1]["output"], json!({"a": 7}));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn null_is_an_output_and_without_a_schema_there_is_none() {
    let (api, _, agent) = told_agent(json!({})).await;
    let message = told(&[("null", "stop")]);
    let chat = json!({"agentId": agent, "message": message, "responseSchema": {"type": "null"}});
    let reply = api.chat(chat).await;
    assert_eq!(reply.get("output"), Some(&Value::Null));
    let turn = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    let turn = api.reader().get(&turn).await.ok();
    assert_eq!(turn["reply"].get("output"), Some(&Value::Null));
    let reply = api
        .chat(json!({"agentId": agent, "message": message}))
        .await;
    assert_eq!(reply.get("output"), None);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_reply_is_repaired_once_and_only_the_repaired_text_goes_out() {
    let (api, engine, agent) = told_agent(json!({})).await;
    let message = told(&[("{\"a\": \"secret\"}", "stop"), ("{\"a\": 8}", "stop")]);
    let chat = json!({
        "agentId": agent, "message": message, "responseSchema": schema(), "stream": true,
    });
    let mut stream = EventStream::open(api.writer().request("POST", "/api/chat").json(&chat)).await;
    let events: Vec<Value> = stream
        .remaining()
        .await
        .into_iter()
        .map(|it| it.data)
        .collect();
    let types: Vec<_> = events
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["turn.started", "reply.delta", "turn.completed"]);
    assert_eq!(events[1]["text"], "{\"a\": 8}");
    let completed = &events[2];
    assert_eq!(
        (&completed["output"], &completed["repaired"]),
        (&json!({"a": 8}), &json!(true))
    );
    let turn = format!("/api/turns/{}", completed["turnId"].as_str().unwrap());
    assert_eq!(api.reader().get(&turn).await.ok()["repaired"], true);
    let conversation = completed["conversationId"].as_str().unwrap();
    assert_eq!(contents(&api, conversation).await[1], "{\"a\": 8}");

    let requests = engine.requests.lock().clone();
    assert_eq!(requests.len(), 2);
    let repair = &requests[1];
    assert!(
        repair.message.contains("/a: value is not of type"),
        "{}",
        repair.message
    );
    let history: Vec<_> = repair
        .history
        .iter()
        .map(|it| it.content.to_string())
        .collect();
    assert_eq!(history, [message, "{\"a\": \"secret\"}".to_owned()]);
    assert!(repair.response_schema.is_some() && !repair.may_call);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_stays_invalid_or_was_cut_off_fails_the_turn() {
    let (api, engine, agent) = told_agent(json!({"fallbacks": ["rules"]})).await;
    let cases: [&[(&str, &str)]; 3] = [
        &[("{}", "stop"), ("{\"a\": 1, \"b\": 2}", "stop")],
        &[("{\"a\": 1}", "length")],
        &[("{}", "stop"), ("{\"a\": 1}", "content_filter")],
    ];
    for replies in cases {
        let chat = json!({"agentId": agent, "message": told(replies), "responseSchema": schema()});
        let failed = api.writer().post("/api/chat", chat).await;
        let problem = failed.problem(ProblemCode::InvalidOutput);
        assert_eq!(problem["retryable"], true);
        let fault = &problem["errors"][0];
        assert_eq!(
            (&fault["pointer"], &fault["code"]),
            (&json!(""), &json!("schema"))
        );
        let turn = format!("/api/turns/{}", problem["turnId"].as_str().unwrap());
        let turn = api.reader().get(&turn).await.ok();
        assert_eq!(
            (&turn["status"], &turn["reply"]),
            (&json!("failed"), &Value::Null)
        );
        assert_eq!(turn["error"]["errors"][0]["code"], "schema");
        assert!(turn.get("output").is_none());
    }
    assert!(engine.left.lock().values().all(VecDeque::is_empty));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_before_a_tool_call_is_not_part_of_the_reply() {
    let (api, mut script, agent) = scripted_agent(json!({"responseSchema": schema()})).await;
    let chat = json!({"agentId": agent, "message": "Hi", "stream": true});
    let mut stream = EventStream::open(api.writer().request("POST", "/api/chat").json(&chat)).await;
    let call = script.next_call().await;
    call.send_text("Let me see.").await;
    call.use_tool("clock", json!({})).await;
    call.send_text("{\"a\":").await;
    call.answer(" 3}").await;
    let events: Vec<Value> = stream
        .remaining()
        .await
        .into_iter()
        .map(|it| it.data)
        .collect();
    let types: Vec<_> = events
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        [
            "turn.started",
            "tool.called",
            "tool.returned",
            "reply.delta",
            "turn.completed"
        ]
    );
    assert_eq!(events[3]["text"], "{\"a\": 3}");
    assert_eq!(events[4]["message"], "{\"a\": 3}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_of_rules_are_checked_too() {
    let api = ApiServer::start().await;
    let agent = json!({"name": "A", "config": {
        "engine": "rules", "responseSchema": schema(),
        "rules": [{"pattern": "number (\\d+)", "reply": "{\"a\": {{capture.1}}}"}],
    }});
    let agent = api.writer().post("/api/agents", agent).await.created();
    let chat = |message: &str| json!({"agentId": agent["id"], "message": message});
    let reply = api.chat(chat("number 12")).await;
    assert_eq!(reply["output"], json!({"a": 12}));
    let failed = api.writer().post("/api/chat", chat("Hello")).await;
    let problem = failed.problem(ProblemCode::InvalidOutput);
    assert_eq!(problem["retryable"], false);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn editing_and_regenerating_keep_the_schema_of_the_message() {
    let (api, _, agent) = told_agent(json!({})).await;
    let message = told(&[("{\"a\": 1}", "stop")]);
    let chat = json!({"agentId": agent, "message": message, "responseSchema": schema()});
    let first = api.chat(chat).await;
    let conversation = &first["conversationId"];
    let again = json!({"conversationId": conversation, "supersedes": first["messageId"]});
    let again = api.chat(again).await;
    assert_eq!(again["output"], json!({"a": 1}));
    let path = format!(
        "/api/conversations/{}/messages",
        conversation.as_str().unwrap()
    );
    let listed = api.reader().get(&path).await.ok();
    let edit = json!({
        "conversationId": conversation, "supersedes": listed["data"][0]["id"],
        "message": told(&[("{\"a\": 2}", "stop")]),
    });
    assert_eq!(api.chat(edit).await["output"], json!({"a": 2}));
    let next = json!({"conversationId": conversation, "message": told(&[("text", "stop")])});
    assert!(api.chat(next).await.get("output").is_none());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_turn_keeps_its_schema() {
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let api = builder
        .setting("ENGINES__DEFAULT", "scripted")
        .start()
        .await;
    let agent = api.agent_id().await;
    let conversation = api.conversation(json!({"agentId": agent})).await;
    let chat = |more: Value| {
        let mut body = json!({"conversationId": conversation["id"], "message": "Hi"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let writer = api.writer();
    let respond_async = |body: Value| {
        let request = writer.request("POST", "/api/chat");
        request.header("Prefer", "respond-async").json(&body)
    };
    respond_async(chat(json!({}))).send().await;
    let running = script.next_call().await;
    let body = chat(json!({"responseSchema": schema()}));
    let queued = respond_async(body).send().await.json();
    assert_eq!(queued["status"], "queued");
    running.answer("Hello").await;
    script.next_call().await.answer("{\"a\": 5}").await;
    let path = format!("/api/turns/{}", queued["id"].as_str().unwrap());
    let mut turn = Value::Null;
    while turn["status"] != "completed" {
        turn = api.reader().get(&path).await.ok();
    }
    assert_eq!(turn["output"], json!({"a": 5}));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_checked_when_they_are_saved_or_sent() {
    let (api, engine, agent) = told_agent(json!({"responseSchema": schema()})).await;
    let writer = api.writer();
    for invalid in [
        json!({"type": "text"}),
        json!({"$ref": "https://example.org/schema"}),
        json!({"pattern": "("}),
        json!({"description": "x".repeat(20_000)}),
    ] {
        let chat = json!({"agentId": agent, "message": "Hi", "responseSchema": invalid});
        let rejected = writer.post("/api/chat", chat).await;
        let problem = rejected.problem(ProblemCode::ValidationFailed);
        assert_eq!(
            problem["errors"][0]["pointer"], "/responseSchema",
            "{invalid}"
        );
        let chat =
            json!({"agentId": agent, "message": "Hi", "responseSchema": invalid, "store": false});
        let rejected = writer.post("/api/chat", chat).await;
        rejected.problem(ProblemCode::ValidationFailed);
        let new = json!({"name": "B", "config": {"responseSchema": invalid}});
        let rejected = writer.post("/api/agents", new).await;
        let problem = rejected.problem(ProblemCode::ValidationFailed);
        assert_eq!(
            problem["errors"][0]["pointer"], "/config/responseSchema",
            "{invalid}"
        );
    }
    assert!(engine.requests.lock().is_empty());
    // A patch replaces the schema as a whole.
    let patch = json!({"config": {"responseSchema": {"const": null}}});
    let patched = writer
        .patch(&format!("/api/agents/{agent}"), patch)
        .await
        .ok();
    assert_eq!(patched["config"]["responseSchema"], json!({"const": null}));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_answer_is_stored_for_a_key() {
    let (api, engine, agent) = told_agent(json!({"responseSchema": schema()})).await;
    let message = told(&[("{", "stop"), ("{\"a\": 1}", "stop")]);
    let body = json!({"agentId": agent, "message": message, "store": false});
    let chat = || -> Request {
        let request = api.writer().request("POST", "/api/chat");
        request.header("Idempotency-Key", "job-1").json(&body)
    };
    let first = chat().send().await.ok();
    assert_eq!(
        (&first["output"], &first["repaired"]),
        (&json!({"a": 1}), &json!(true))
    );
    assert_eq!(chat().send().await.ok(), first);
    assert_eq!(engine.requests.lock().len(), 2);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_sends_a_schema_and_sees_the_output() {
    let (api, _, agent) = told_agent(json!({})).await;
    let (_, backend) = backend(&api, BACKEND).await;
    let grace = user(&api, &backend, "grace").await;
    let chat = json!({
        "agentId": agent, "message": told(&[("{\"a\": 1}", "stop")]), "responseSchema": schema(),
    });
    let reply = grace.post("/api/chat", chat).await.ok();
    assert_eq!(reply["output"], json!({"a": 1}));
    api.stop().await;
}
