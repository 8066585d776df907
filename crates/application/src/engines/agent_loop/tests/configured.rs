//! Tests of the limits of rounds and calls, and of the entries of an agent's tools.

use std::sync::Arc;

use domain::{Agent, ToolVisibility};
use ports::ModelRequest;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::fixture::{FakeTools, call, reply, request_with, response, text};

#[tokio::test]
async fn the_model_must_reply_after_eight_rounds_of_calls() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let mut responses = vec![response(&[call("time", "{}")]); 8];
    responses.push(response(&[text("Enough.")]));
    let replied = reply(request_with(&fake_tools, &["time"]), responses).await;
    assert_eq!(replied.text, "Enough.");
    assert_eq!(fake_tools.calls().len(), 8);
    let may_call: Vec<_> = replied.requests.iter().map(|it| it.may_call).collect();
    assert_eq!(may_call, [[true; 8].as_slice(), &[false]].concat());
}

#[tokio::test]
async fn a_turn_has_at_most_sixteen_calls() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let twelve = response(&vec![call("time", "{}"); 12]);
    let responses = vec![twelve.clone(), twelve, response(&[text("Enough.")])];
    let replied = reply(request_with(&fake_tools, &["time"]), responses).await;
    assert_eq!(replied.text, "Enough.");
    assert_eq!(fake_tools.calls().len(), 16);
    let statuses = replied.statuses();
    assert_eq!(statuses.len(), 24);
    assert_eq!(statuses[..16], [("time", "ok"); 16]);
    assert_eq!(statuses[16..], [("time", "too_many"); 8]);
    assert!(!replied.requests[2].may_call);
}

#[tokio::test]
async fn calls_after_the_last_round_fail_the_reply() {
    for before in ["", "One more look."] {
        let fake_tools: Arc<FakeTools> = Arc::default();
        let endless = response(&[text(before), call("time", "{}")]);
        let replied = reply(request_with(&fake_tools, &["time"]), vec![endless]).await;
        assert!(replied.cause().contains("exceeded the limit of tool calls"));
        assert_eq!(replied.requests.len(), 9);
        assert_eq!(fake_tools.calls().len(), 8);
    }
}

/// The same request to an agent with this configuration.
fn configured(request: ModelRequest, config: Value) -> ModelRequest {
    let mut agent = Agent::clone(&request.agent);
    agent.config = serde_json::from_value(config).unwrap();
    ModelRequest {
        agent: Arc::new(agent),
        ..request
    }
}

#[tokio::test]
async fn an_agent_limits_its_rounds_and_calls() {
    let fake_tools = Arc::default();
    let twice = response(&[call("time", "{}"), call("time", "{}")]);
    let answer = response(&[text("Noon.")]);
    for (config, responses, statuses) in [
        (
            json!({"maxToolRounds": 1}),
            vec![twice.clone(), answer.clone()],
            vec!["ok", "ok"],
        ),
        (
            json!({"maxToolCalls": 3}),
            vec![twice.clone(), twice, answer],
            vec!["ok", "ok", "ok", "too_many"],
        ),
    ] {
        let request = configured(request_with(&fake_tools, &["time"]), config);
        let replied = reply(request, responses).await;
        let found: Vec<_> = replied.calls.iter().map(|call| &*call.status).collect();
        assert_eq!(found, statuses);
        let may_call: Vec<_> = replied.requests.iter().map(|it| it.may_call).collect();
        assert_eq!(may_call.last(), Some(&false), "{may_call:?}");
        assert!(may_call[..may_call.len() - 1].iter().all(|&may| may));
    }
}

#[tokio::test]
async fn a_call_is_stored_with_what_users_see_of_it() {
    let fake_tools = Arc::default();
    let asked = response(&[
        call("files_read", "{}"),
        call("time", "{}"),
        call("made_up", "{}"),
    ]);
    let hidden = json!({"tools": [{"name": "files/*", "visibility": "none"}]});
    let shown = json!({"tools": [{"name": "time", "visibility": "full"}]});
    let (none, full) = (Some(ToolVisibility::Hidden), Some(ToolVisibility::Full));
    for (config, expected) in [
        (hidden, [none, None, none]),
        (shown, [None, full, None]),
        (json!({}), [None; 3]),
    ] {
        let request = configured(request_with(&fake_tools, &["files/read", "time"]), config);
        let replied = reply(request, vec![asked.clone(), response(&[text("Well.")])]).await;
        let found: Vec<_> = replied.calls.iter().map(|call| call.visibility).collect();
        assert_eq!(found, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_an_entry_wins() {
    let fake_tools = Arc::new(FakeTools {
        meeting: Some(Barrier::new(2)),
        ..FakeTools::default()
    });
    let config = json!({"tools": [{"name": "meet", "timeoutMs": 20_000, "approval": "never"}]});
    let request = configured(request_with(&fake_tools, &["meet"]), config);
    let responses = vec![response(&[call("meet", "{}")]), response(&[text("Alone.")])];
    let began = tokio::time::Instant::now();
    let replied = reply(request, responses).await;
    assert_eq!(replied.statuses(), [("meet", "timed_out")]);
    assert_eq!(began.elapsed().as_secs(), 20);
}
