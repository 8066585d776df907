//! Rules that call a tool before they reply.

use std::sync::Arc;

use async_trait::async_trait;
use domain::ProblemCode;
use ports::{
    CapabilityInfo, CapabilityKind, ProvidedTools, ReplyError, ToolArguments, ToolContext,
    ToolDefinition, ToolError, ToolHints, ToolProvider,
};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    chat_streams::{names, stream_chat},
    engines::{contents, turn},
    script::scripted,
    sockets::client::SocketClient,
    storage_probe::StorageProbe,
};

/// An agent that calculates, and otherwise replies at once.
fn calculating_agent() -> Value {
    let call = json!({"tool": "calculator", "arguments": {"expression": "{{capture.sum}}"}});
    let rules = json!([
        {"pattern": "what is (?<sum>[0-9].*)\\?", "call": call, "reply": "{{agent.name}}: {{result}}."},
        {"pattern": "hello", "reply": "Hello."},
    ]);
    let config = json!({"engine": "rules", "rules": rules, "fallbackReply": "Hm."});
    json!({"name": "Ada", "capabilities": ["calculator"], "config": config})
}

/// The calls of a turn: name, arguments, status and result.
fn calls_of(turn: &Value) -> Vec<[&Value; 4]> {
    let calls = turn["toolCalls"].as_array().expect("calls").iter();
    let members = ["name", "arguments", "status", "result"];
    calls
        .map(|call| members.map(|member| &call[member]))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_calls_takes_four_writes_and_other_rules_reply_in_one() {
    let probe = Arc::new(StorageProbe::default());
    let builder = ApiServerBuilder::default().wrap_storage({
        let probe = Arc::clone(&probe);
        move |storage| probe.wrap_storage(storage)
    });
    let api = builder.start().await;
    let agent = id_of(&api.agent(calculating_agent()).await);
    let mut chat = json!({"agentId": agent, "message": "What is 17 * 24?"});
    api.writer().get("/api/engines").await.ok();
    probe.calls();
    let reply = api.chat(chat.clone()).await;
    // The start of the call is stored before it is made.
    let writes = [
        "turns.begin_turn",
        "writes.other",
        "writes.other",
        "turns.finish_turn",
    ];
    assert_eq!(probe.calls(), writes);
    assert_eq!(reply["message"], "Ada: 408.");
    assert_eq!(
        (&reply["engine"], &reply["finishReason"]),
        (&json!("rules"), &json!("stop"))
    );
    chat["conversationId"] = reply["conversationId"].clone();
    chat["message"] = json!("Hello");
    assert_eq!(api.chat(chat).await["message"], "Hello.");
    assert_eq!(probe.calls(), ["turns.record_completed_turn"]);
    let turn = turn(&api, reply["turnId"].as_str().unwrap()).await;
    let arguments = json!({"expression": "17 * 24"});
    let (name, ok, result) = (json!("calculator"), json!("ok"), json!("408"));
    assert_eq!(calls_of(&turn), [[&name, &arguments, &ok, &result]]);
    let conversation = reply["conversationId"].as_str().unwrap();
    let expected = ["What is 17 * 24?", "Ada: 408.", "Hello", "Hello."];
    assert_eq!(contents(&api, conversation).await, expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_streamed() {
    let api = ApiServer::start().await;
    let agent = id_of(&api.agent(calculating_agent()).await);
    let chat = json!({"agentId": agent, "message": "What is 2 ^ 10?"});
    let events = stream_chat(&api, chat).await.remaining().await;
    let expected = [
        "turn.started",
        "tool.called",
        "tool.returned",
        "reply.delta",
        "turn.completed",
    ];
    assert_eq!(names(&events), expected);
    assert_eq!(events[1].data["arguments"], json!({"expression": "2 ^ 10"}));
    assert_eq!(events[2].data["result"], "1024");
    assert_eq!(events[4].data["message"], "Ada: 1024.");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_on_a_socket_is_answered_with_the_result() {
    let api = ApiServer::start().await;
    let agent = id_of(&api.agent(calculating_agent()).await);
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let chat = json!({"agentId": agent, "message": "What is 5 + 5?"});
    socket.expect_success("chat", chat).await;
    let events = socket.events_to("turn.completed").await;
    let completed = &events.last().expect("the end of the turn")["data"];
    assert_eq!(completed["message"]["content"], "Ada: 10.");
    assert_eq!(completed["turn"]["toolCalls"][0]["result"], "10");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_is_not_stored_calls_the_tool_too() {
    let api = ApiServer::start().await;
    let agent = id_of(&api.agent(calculating_agent()).await);
    let message = "What is 6 * 7?";
    let chat = json!({"agentId": agent, "message": message, "store": false});
    let reply = api.chat(chat).await;
    assert_eq!(reply["message"], "Ada: 42.");
    assert!(reply["conversationId"].is_null());
    let messages = json!([{"role": "user", "content": message}]);
    let body = json!({"model": agent, "messages": messages});
    let completion = api.writer().post("/v1/chat/completions", body).await.ok();
    let content = &completion["choices"][0]["message"]["content"];
    assert_eq!(*content, "Ada: 42.");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reply_says_why_a_call_failed() {
    let api = ApiServer::start().await;
    let agent = id_of(&api.agent(calculating_agent()).await);
    let chat = json!({"agentId": agent, "message": "What is 1 / 0?"});
    let reply = api.chat(chat).await;
    let turn = turn(&api, reply["turnId"].as_str().unwrap()).await;
    let [[_, _, status, reason]] = calls_of(&turn)[..] else {
        panic!("{turn}");
    };
    assert_eq!(status, "invalid_arguments");
    let reason = reason.as_str().expect("a reason");
    assert_eq!(reply["message"], format!("Ada: {reason}."));
    api.stop().await;
}

/// A server whose tool returns its argument, and which can lose it.
struct Echo;

#[async_trait]
impl ToolProvider for Echo {
    fn provided(&self) -> ProvidedTools {
        let info = |name: &str, kind| CapabilityInfo {
            name: name.to_owned(),
            kind,
            description: String::new(),
            is_available: true,
        };
        ProvidedTools {
            capabilities: vec![
                info("lab", CapabilityKind::Server),
                info("lab/echo", CapabilityKind::Tool),
            ],
            tools: vec![Arc::new(ToolDefinition {
                name: "lab/echo".to_owned(),
                description: String::new(),
                input_schema: json!({"type": "object"}),
                hints: ToolHints::default(),
            })],
        }
    }

    async fn call(
        &self,
        _: &str,
        arguments: &ToolArguments,
        _: &ToolContext,
    ) -> Result<String, ToolError> {
        Ok(arguments["texts"][1]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn placeholders_in_results_and_messages_are_not_filled() {
    let api = ApiServerBuilder::default().tools(Echo).start().await;
    let arguments = json!({"texts": [1, {"text": "{{message}} of {{user.id}}"}]});
    let call = json!({"tool": "lab/echo", "arguments": arguments});
    let rules = json!([{"pattern": "echo", "call": call, "reply": "{{result}}!"}]);
    let config = json!({"engine": "rules", "rules": rules, "tools": [{"name": "lab/*", "approval": "never"}]});
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let message = "echo {{agent.name}} {{result}}";
    let chat = json!({"agentId": agent, "message": message, "userId": "grace"});
    let reply = api.chat(chat).await;
    assert_eq!(reply["message"], format!("{message} of grace!"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_sent_together_are_answered_in_their_order() {
    let api = ApiServer::start().await;
    let agent = id_of(&api.agent(calculating_agent()).await);
    let chat = json!({"agentId": agent, "message": "Hello"});
    let conversation = api.chat(chat).await["conversationId"].clone();
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let mut expected = vec!["Hello".to_owned(), "Hello.".to_owned()];
    for number in 0..8 {
        let (message, reply) = match number % 2 {
            0 => (
                format!("What is {number} + 1?"),
                format!("Ada: {}.", number + 1),
            ),
            _ => (format!("Hello {number}"), "Hello.".to_owned()),
        };
        let chat = json!({"agentId": agent, "conversationId": conversation, "message": message});
        socket.send_command("chat", chat).await;
        expected.extend([message, reply]);
    }
    let conversation = conversation.as_str().expect("an id");
    let stored = loop {
        let stored = contents(&api, conversation).await;
        if stored.len() == expected.len() {
            break stored;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(stored, expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_calls_the_tool_of_its_rule() {
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let api = builder.start().await;
    let mut draft = calculating_agent();
    draft["config"]["engine"] = json!("scripted");
    draft["config"]["fallbacks"] = json!(["rules"]);
    let agent = id_of(&api.agent(draft).await);
    let chat = json!({"agentId": agent, "message": "What is 3 * 3?"});
    let (reply, ()) = tokio::join!(api.chat(chat), async {
        let call = script.next_call().await;
        call.fail(ReplyError::TimedOut);
    });
    assert_eq!(
        (&reply["message"], &reply["degraded"]),
        (&json!("Ada: 9."), &json!(true))
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_calls_only_tools_of_the_agent() {
    let api = ApiServerBuilder::default().tools(Echo).start().await;
    let rule = |tool: &str| json!({"pattern": "a", "reply": "b", "call": {"tool": tool}});
    let draft = |tools: &[&str]| {
        let rules: Vec<_> = tools.iter().map(|tool| rule(tool)).collect();
        let config = json!({"rules": rules, "tools": [{"name": "lab/*"}]});
        json!({"name": "Ada", "capabilities": ["time", "free text"], "config": config})
    };
    let agent = api.agent(draft(&["time", "lab/echo"])).await;
    let wrong = ["time", "calculator", "lab/ech", "lab/*", "free text", "lab"];
    let response = api.writer().post("/api/agents", draft(&wrong)).await;
    response.problem(ProblemCode::UnknownTool);
    let expected: Vec<_> = (1..wrong.len())
        .map(|index| (pointer(index), "unknown_value".to_owned()))
        .collect();
    assert_eq!(response.faults(), expected);
    // The rule would call a tool that the agent does not have any more.
    let path = format!("/api/agents/{}", id_of(&agent));
    let without = json!({"capabilities": []});
    let response = api.writer().patch(&path, without).await;
    response.problem(ProblemCode::UnknownTool);
    let expected = [(pointer(0), "unknown_value".to_owned())];
    assert_eq!(response.faults(), expected);
    api.stop().await;
}

fn pointer(rule: usize) -> String {
    format!("/config/rules/{rule}/call/tool")
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_a_call_have_pointers() {
    let api = ApiServer::start().await;
    let deep = (0..33).fold(json!(1), |inner, _| json!({ "a": inner }));
    let long = "a".repeat(64 * 1024);
    for (call, pointer, code) in [
        (json!({}), "/tool", "required"),
        (json!({"tool": ""}), "/tool", "too_short"),
        (
            json!({"tool": "time", "arguments": []}),
            "/arguments",
            "wrong_type",
        ),
        (
            json!({"tool": "time", "approval": 1}),
            "/approval",
            "unknown_member",
        ),
        (
            json!({"tool": "time", "arguments": deep}),
            "/arguments",
            "bad_format",
        ),
        (
            json!({"tool": "time", "arguments": {"a": long}}),
            "/arguments",
            "too_large",
        ),
        (
            json!({"tool": "time", "arguments": {"a": "\u{0}"}}),
            "/arguments/a",
            "bad_character",
        ),
    ] {
        let rules = json!([{"pattern": "a", "reply": "b", "call": call}]);
        let draft = json!({"name": "Ada", "capabilities": ["time"], "config": {"rules": rules}});
        let response = api.writer().post("/api/agents", draft).await;
        response.problem(ProblemCode::ValidationFailed);
        let pointer = format!("/config/rules/0/call{pointer}");
        assert_eq!(response.faults(), [(pointer, code.to_owned())]);
    }
    let mut draft = calculating_agent();
    draft["config"]["rules"][0]["call"]["arguments"]["expression"] = json!("{{result}}");
    let response = api.writer().post("/api/agents", draft).await;
    response.problem(ProblemCode::InvalidRule);
    let pointer = "/config/rules/0/call/arguments/expression".to_owned();
    assert_eq!(response.faults(), [(pointer, "unknown_value".to_owned())]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_of_rules_shows_the_call() {
    let api = ApiServer::start().await;
    let agent = id_of(&api.agent(calculating_agent()).await);
    let test = json!({"agentId": agent, "message": "What is 17 * 24?"});
    let tested = api.writer().post("/api/rules/test", test).await.ok();
    let call = json!({"tool": "calculator", "arguments": {"expression": "17 * 24"}});
    assert_eq!(
        (&tested["call"], &tested["reply"]),
        (&call, &json!("Ada: {{result}}."))
    );
    let test = json!({"agentId": agent, "message": "Hello"});
    let tested = api.writer().post("/api/rules/test", test).await.ok();
    assert_eq!(tested.get("call"), None);
    let rules = json!([{"pattern": "a", "reply": "b", "call": {"tool": "time"}}]);
    let mut test = json!({"rules": rules, "message": "a"});
    let response = api.writer().post("/api/rules/test", test.clone()).await;
    response.problem(ProblemCode::UnknownTool);
    let pointer = "/rules/0/call/tool".to_owned();
    assert_eq!(response.faults(), [(pointer, "unknown_value".to_owned())]);
    test["tools"] = json!([{"name": "time"}]);
    let tested = api.writer().post("/api/rules/test", test).await.ok();
    assert_eq!(tested["call"], json!({"tool": "time", "arguments": {}}));
    api.stop().await;
}
