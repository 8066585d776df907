//! Tests of turns of which nothing is recorded, and of what a client demands of tool calls.

use std::{slice, sync::Arc};

use domain::{ActionNeeded, Agent, FinishReason};
use ports::{ModelRequest, ToolChoice, ToolHints, ToolUse};
use serde_json::{Value, json};

use super::fixture::{
    FakeTools, READ_ONLY, call, hint, reply, reply_unrecorded, request_with, response, text,
};

const UNAVAILABLE: &str = "not available in an unrecorded chat";

/// A request to an agent with these entries of its tools.
fn configured(request: ModelRequest, tools: &Value) -> ModelRequest {
    let mut agent = Agent::clone(&request.agent);
    agent.config = serde_json::from_value(json!({"tools": tools})).unwrap();
    ModelRequest {
        agent: Arc::new(agent),
        ..request
    }
}

/// Makes a tool one that the client runs.
fn of_client(request: &mut ModelRequest, name: &str) {
    let tools = Arc::get_mut(&mut request.tools).expect("nobody has them yet");
    let mut tools = tools.iter_mut();
    let tool = tools.find(|it| it.definition.name == name).expect("a tool");
    tool.provider = None;
}

#[tokio::test]
async fn only_tools_that_read_and_need_no_approval_are_called() {
    let adds = ToolHints {
        destructive: Some(false),
        idempotent: Some(true),
        is_repeatable: true,
        ..ToolHints::default()
    };
    let entry = |approval: &str| json!([{"name": "time", "approval": approval}]);
    for (hints, entries, is_called) in [
        (READ_ONLY, json!([]), true),
        (READ_ONLY, entry("destructive"), true),
        (READ_ONLY, entry("always"), false),
        (ToolHints::READ_ONLY, entry("never"), true),
        (ToolHints::default(), json!([]), false),
        (ToolHints::default(), entry("never"), false),
        (adds, entry("never"), false),
    ] {
        let fake_tools: Arc<FakeTools> = Arc::default();
        let mut request = configured(request_with(&fake_tools, &["time"]), &entries);
        hint(&mut request, "time", hints);
        let responses = vec![response(&[call("time", "{}")]), response(&[text("Well.")])];
        let replied = reply_unrecorded(request, responses).await;
        assert_eq!(replied.text, "Well.", "{hints:?} {entries}");
        assert_eq!(fake_tools.calls().len(), usize::from(is_called));
        let answer = replied.requests[1].steps[0].calls[0].answer();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        if is_called {
            assert_eq!(answer["status"], "ok", "{hints:?} {entries}");
        } else {
            let expected = json!({"status": "unavailable", "error": UNAVAILABLE});
            assert_eq!(answer, expected, "{hints:?} {entries}");
        }
    }
}

#[tokio::test]
async fn a_call_of_a_tool_of_the_client_ends_the_turn_once_the_others_have_ended() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let mut request = request_with(&fake_tools, &["time", "open_cart"]);
    hint(&mut request, "time", READ_ONLY);
    of_client(&mut request, "open_cart");
    let turn = request.turn_id;
    let asked = response(&[
        text("Look:"),
        call("open_cart", r#"{"tab": 2}"#),
        call("time", "{}"),
    ]);
    let replied = reply_unrecorded(request, vec![asked]).await;
    assert_eq!(replied.end, Ok((FinishReason::RequiresAction, None)));
    assert_eq!((&*replied.text, replied.requests.len()), ("Look:", 1));
    let expected = [("open_cart", "waiting"), ("time", "ok")];
    assert_eq!(replied.statuses(), expected);
    let waiting = &replied.calls[0];
    assert_eq!(waiting.id, format!("{turn}-1"));
    assert_eq!(waiting.arguments, json!({"tab": 2}));
    assert_eq!(waiting.needs_of_user(), Some(ActionNeeded::Output));
    assert_eq!(waiting.expires_at, None);
}

#[tokio::test]
async fn a_tool_of_the_client_that_is_withheld_is_not_available() {
    let mut request = configured(
        request_with(&Arc::default(), &[]),
        &json!([{"name": "open_cart", "run": "client"}]),
    );
    request.unavailable_tools = vec!["away".to_owned(), "open_cart".to_owned()];
    let asked = response(&[call("open_cart", "{}"), call("away", "{}")]);
    let replied = reply_unrecorded(request, vec![asked, response(&[text("Well.")])]).await;
    let results = replied.calls.iter().map(|call| call.result.as_deref());
    let expected = [Some(UNAVAILABLE), Some("the tool is unavailable")];
    assert_eq!(results.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_choice_of_tools_is_for_the_first_request() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    for choice in [
        ToolChoice::Required,
        ToolChoice::Function("time".to_owned()),
    ] {
        let tool_use = ToolUse {
            choice: choice.clone(),
            parallel: Some(false),
        };
        let request = ModelRequest {
            tool_use,
            ..request_with(&fake_tools, &["time"])
        };
        let asked = response(&[call("time", "{}")]);
        let responses = vec![asked.clone(), asked, response(&[text("Noon.")])];
        let replied = reply(request, responses).await;
        let sent = replied.requests.iter().map(|it| &it.tool_use);
        let (choices, parallel): (Vec<_>, Vec<_>) =
            sent.map(|it| (it.choice.clone(), it.parallel)).unzip();
        let auto = [ToolChoice::Auto, ToolChoice::Auto];
        assert_eq!(choices, [slice::from_ref(&choice), &auto].concat());
        assert_eq!(parallel, [Some(false); 3]);
    }
}
