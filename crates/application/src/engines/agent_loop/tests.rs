mod configured;
mod fixture;
mod journal;
mod journal_store;
mod output;
mod resumption;
mod unrecorded;

use std::{sync::Arc, time::Duration};

use contract::reply_engine::request;
use domain::{FinishReason, ProblemCode, Usage};
use fixture::{
    FakeTools, READ_ONLY, Replied, call, end, hint, reply, reply_slowly, request_with, response,
    text,
};
use ports::{ModelChunk, RequestedCall, ToolContext};
use serde_json::{Value, json};
use tokio::sync::Barrier;

const STOP: FinishReason = FinishReason::Stop;

/// Lets a model call one tool, and returns the result that it reads.
async fn read_result(
    fake_tools: &Arc<FakeTools>,
    tool: &str,
    asked: ModelChunk,
) -> (Replied, Value) {
    let responses = vec![response(&[asked]), response(&[text("Well.")])];
    let replied = reply(request_with(fake_tools, &[tool]), responses).await;
    assert_eq!(replied.text, "Well.", "{replied:?}");
    let result = &replied.requests[1].steps[0].calls[0].answer();
    let result = serde_json::from_str(result).unwrap();
    (replied, result)
}

#[tokio::test]
async fn tools_are_called_and_their_results_are_sent() {
    let fake_tools = Arc::default();
    let first = response(&[
        text("Let me look."),
        call("files_read", r#"{"path": "a"}"#),
        call("slow", ""),
        call("time", "{}"),
    ]);
    let request = request_with(&fake_tools, &["time", "slow", "files/read"]);
    let turn = request.turn_id;
    let second = response(&[text("It is "), text("noon.")]);
    let replied = reply(request, vec![first, second]).await;
    assert_eq!(replied.end, Ok((STOP, None)));
    assert_eq!(replied.text, "Let me look.\n\nIt is noon.");
    let expected = [("files/read", "ok"), ("slow", "ok"), ("time", "ok")];
    assert_eq!(replied.statuses(), expected);
    assert_eq!(replied.calls[0].arguments, json!({"path": "a"}));
    assert!(replied.calls.iter().all(|it| it.at == "Let me look.".len()));

    let [first, second] = &replied.requests[..] else {
        panic!("two requests")
    };
    assert!(first.steps.is_empty() && first.may_call && second.may_call);
    let step = &second.steps[0];
    assert_eq!(step.response.text, "Let me look.");
    let calls: Vec<_> = step
        .calls
        .iter()
        .map(|it| (&*it.call_id, &*it.name, &*it.function, &*it.arguments))
        .collect();
    let ids = [1, 2, 3].map(|number| format!("{turn}-{number}"));
    let expected = [
        (&*ids[0], "files/read", "files_read", r#"{"path": "a"}"#),
        (&*ids[1], "slow", "slow", "{}"),
        (&*ids[2], "time", "time", "{}"),
    ];
    assert_eq!(calls, expected);
    let result = json!({"status": "ok", "data": "files/read says \"hello\""});
    assert_eq!(step.calls[0].answer(), result.to_string());
    let ids: Vec<_> = replied.calls.iter().map(|it| &it.id).collect();
    assert_eq!(
        ids,
        step.calls.iter().map(|it| &it.call_id).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_tool_learns_what_its_call_belongs_to() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let first = response(&[
        call("time", "{}"),
        call("unknown", "{}"),
        call("time", "{}"),
    ]);
    let second = response(&[call("time", r#"{"agent-service/userId": "eve"}"#)]);
    let request = request_with(&fake_tools, &["time"]);
    let expected = |number: u32| ToolContext {
        tenant: request.tenant.clone(),
        agent_id: request.agent.id,
        agent_version: request.agent.version,
        user_id: Some("ada".to_owned()),
        conversation_id: Some(contract::fixture::conversation_id(1)),
        turn_id: request.turn_id,
        call_id: format!("{}-{number}", request.turn_id),
        attempt: 1,
        started_by: contract::fixture::principal(),
        credential: None,
    };
    let expected = [1, 3, 4].map(expected);
    let responses = vec![first, second, response(&[text("Done.")])];
    let replied = reply(request, responses).await;
    assert_eq!(*fake_tools.contexts.lock(), expected);
    let called = replied.calls.iter().filter(|it| it.name == "time");
    let shown: Vec<_> = called.map(|it| &*it.id).collect();
    assert_eq!(shown, expected.each_ref().map(|it| &*it.call_id));
}

/// Three calls wait for each other, or none of them returns.
#[tokio::test]
async fn calls_of_a_round_run_concurrently() {
    let fake_tools = Arc::new(FakeTools {
        meeting: Some(Barrier::new(3)),
        ..FakeTools::default()
    });
    let calls = response(&[call("meet", "{}"), call("meet", "{}"), call("meet", "{}")]);
    let request = request_with(&fake_tools, &["meet"]);
    let replied = reply(request, vec![calls, response(&[text("All met.")])]).await;
    assert_eq!(replied.text, "All met.");
    assert_eq!(replied.statuses(), [("meet", "ok"); 3]);
}

#[tokio::test]
async fn what_an_engine_wants_to_see_again_returns_with_its_step() {
    let fake_tools = Arc::default();
    let state = json!({"signature": "abc"});
    let ended = |size: usize| ModelChunk::End {
        finish_reason: STOP,
        usage: Some(Usage {
            input_tokens: 10,
            output_tokens: 5,
            ..Usage::default()
        }),
        model: Some("gpt-1".to_owned()),
        state: Some(json!({"signature": state["signature"], "more": "x".repeat(size)})),
    };
    let request = request_with(&fake_tools, &["time"]);
    let first = vec![call("time", "{}"), ended(0)];
    let second = vec![text("Noon."), ended(0)];
    let replied = reply(request.clone(), vec![first, second]).await;
    let counted = Usage {
        input_tokens: 20,
        output_tokens: 10,
        ..Usage::default()
    };
    assert_eq!(replied.end, Ok((STOP, Some(counted))));
    let sent = &replied.requests[1].steps[0].response;
    assert_eq!(sent.state, Some(json!({"signature": "abc", "more": ""})));
    assert_eq!(sent.model.as_deref(), Some("gpt-1"));

    let too_large = vec![call("time", "{}"), ended(256 * 1024)];
    let replied = reply(request, vec![too_large]).await;
    assert!(replied.cause().contains("too long"), "{replied:?}");
    assert!(replied.calls.is_empty());
}

#[tokio::test]
async fn a_failed_call_is_reported_and_the_model_continues() {
    for (name, status, reason) in [
        ("refuses", "invalid_arguments", "no such zone"),
        ("fails", "failed", "the disk is full"),
        ("away", "unavailable", "the tool is unavailable"),
    ] {
        let asked = call(name, r#"{"a": 1}"#);
        let (replied, result) = read_result(&Arc::default(), name, asked).await;
        assert_eq!(replied.statuses(), [(name, status)]);
        assert_eq!(replied.calls[0].arguments, json!({"a": 1}));
        assert_eq!(result, json!({"status": status, "error": reason}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_time_limit() {
    for (call_timeout, milliseconds) in [(None, 15_000), (Some(Duration::from_millis(40)), 40)] {
        let fake_tools = Arc::new(FakeTools {
            call_timeout,
            ..FakeTools::default()
        });
        let (replied, result) = read_result(&fake_tools, "hangs", call("hangs", "{}")).await;
        assert_eq!(replied.statuses(), [("hangs", "timed_out")]);
        assert!((milliseconds..milliseconds + 100).contains(&replied.calls[0].duration_ms));
        let why = "the tool took too long; the call may or may not have taken effect";
        assert_eq!(result, json!({"status": "timed_out", "error": why}));
    }
}

/// Nothing can have happened.
#[tokio::test(start_paused = true)]
async fn a_harmless_call_ends_at_its_time_limit_without_a_doubt() {
    let mut request = request_with(&Arc::default(), &["hangs"]);
    hint(&mut request, "hangs", READ_ONLY);
    let responses = vec![response(&[call("hangs", "{}")]), response(&[text("Well.")])];
    let replied = reply(request, responses).await;
    let answer = replied.requests[1].steps[0].calls[0].answer();
    let expected = json!({"status": "timed_out", "error": "the tool took too long"});
    assert_eq!(answer, expected.to_string());
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_an_agent_is_for_each_request() {
    let fake_tools = Arc::new(FakeTools {
        call_timeout: Some(Duration::from_secs(20)),
        ..FakeTools::default()
    });
    let mut request = request_with(&fake_tools, &["hangs"]);
    Arc::make_mut(&mut request.agent).config.timeout_ms = Some(10_000);
    let responses = vec![response(&[call("hangs", "{}")]), response(&[text("Well.")])];
    let slow = Duration::from_secs(9);
    let replied = reply_slowly(slow, request.clone(), responses.clone()).await;
    assert_eq!(replied.end, Ok((STOP, None)));
    let too_slow = Duration::from_secs(11);
    let replied = reply_slowly(too_slow, request, responses).await;
    let code = replied.end.map_err(|problem| problem.code);
    assert_eq!(code, Err(ProblemCode::EngineTimeout));
}

#[tokio::test(start_paused = true)]
async fn a_reply_ends_after_half_an_hour() {
    let mut request = request_with(&Arc::default(), &["time"]);
    Arc::make_mut(&mut request.agent).config.timeout_ms = Some(600_000);
    let endless = vec![response(&[call("time", "{}")])];
    let slow = Duration::from_secs(590);
    let replied = reply_slowly(slow, request, endless).await;
    assert_eq!(replied.requests.len(), 4);
    let code = replied.end.map_err(|problem| problem.code);
    assert_eq!(code, Err(ProblemCode::EngineTimeout));
}

/// The outcome of a call is stored although an earlier call still runs.
#[tokio::test(start_paused = true)]
async fn a_call_that_has_ended_keeps_its_outcome_if_the_reply_ends_before_another_call() {
    let fake_tools = Arc::new(FakeTools {
        call_timeout: Some(Duration::from_hours(1)),
        ..FakeTools::default()
    });
    let request = request_with(&fake_tools, &["hangs", "time"]);
    let calls = response(&[call("hangs", "{}"), call("time", "{}")]);
    let replied = reply(request, vec![calls]).await;
    let expected = [("hangs", "outcome_unknown"), ("time", "ok")];
    assert_eq!(replied.statuses(), expected);
    assert_eq!(
        replied.calls[1].result.as_deref(),
        Some("time says \"hello\"")
    );
}

#[tokio::test]
async fn arguments_that_are_no_usable_object_never_reach_the_tool() {
    let deep = r#"{"a":"#.repeat(33) + "1" + &"}".repeat(33);
    for (arguments, why) in [
        (Some(r#"{"zone": "UT"#), "the arguments are not valid JSON"),
        (Some("[1]"), "the arguments are not a JSON object"),
        (
            Some(r#"{"id": 12345678901234567890123}"#),
            "an integer in the arguments is longer than 64 bits",
        ),
        (Some(&deep), "the arguments are nested too deeply"),
        (None, "the arguments did not arrive; call the tool again"),
    ] {
        let fake_tools: Arc<FakeTools> = Arc::default();
        let asked = ModelChunk::ToolCall(RequestedCall {
            function: "time".to_owned(),
            arguments: arguments.map(str::to_owned),
        });
        let (replied, result) = read_result(&fake_tools, "time", asked).await;
        assert_eq!(replied.statuses(), [("time", "invalid_arguments")]);
        assert_eq!(replied.calls[0].arguments, json!({}));
        assert_eq!(result, json!({"status": "invalid_arguments", "error": why}));
        assert!(fake_tools.calls().is_empty());
        let sent = &replied.requests[1].steps[0].calls[0].arguments;
        assert!(sent.starts_with('{') && sent.ends_with('}'), "{sent}");
    }
}

/// The server of a tool judges its own arguments.
#[tokio::test]
async fn arguments_that_do_not_match_the_schema_reach_the_tool() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let mut request = request_with(&fake_tools, &["refuses"]);
    let tools = Arc::get_mut(&mut request.tools).unwrap();
    let definition = Arc::get_mut(&mut tools[0].definition).unwrap();
    definition.input_schema = json!({"type": "object", "required": ["zone"]});
    let responses = vec![
        response(&[call("refuses", "{}")]),
        response(&[text("Well.")]),
    ];
    let replied = reply(request, responses).await;
    assert_eq!(replied.statuses(), [("refuses", "invalid_arguments")]);
    assert_eq!(fake_tools.calls(), [("refuses".to_owned(), json!({}))]);
}

#[tokio::test]
async fn a_tool_that_the_agent_lacks_is_unknown() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let (replied, result) = read_result(&fake_tools, "time", call("files?\n", "{}")).await;
    assert_eq!(replied.statuses(), [("files", "unknown_tool")]);
    let why = "there is no such tool; the tools are: time";
    assert_eq!(result, json!({"status": "unknown_tool", "error": why}));
    assert!(fake_tools.calls().is_empty());
    // Servers reject a whole request for another name.
    assert_eq!(replied.requests[1].steps[0].calls[0].function, "files__");
}

#[tokio::test]
async fn a_tool_is_found_by_a_decorated_name() {
    for function in ["functions.time", "time<|channel|>commentary", " time"] {
        let (replied, _) = read_result(&Arc::default(), "time", call(function, "{}")).await;
        assert_eq!(replied.statuses(), [("time", "ok")]);
    }
}

#[tokio::test]
async fn calls_of_an_unavailable_tool_fail() {
    for function in ["files_read", "files/read"] {
        let mut request = request(0);
        request.unavailable_tools = vec!["files".to_owned(), "files/read".to_owned()];
        let responses = vec![
            response(&[call(function, "{}")]),
            response(&[text("Well.")]),
        ];
        let replied = reply(request, responses).await;
        assert_eq!(replied.statuses(), [("files/read", "unavailable")]);
    }
}

#[tokio::test]
async fn a_long_result_is_truncated_for_the_model() {
    let (replied, result) = read_result(&Arc::default(), "long", call("long", "{}")).await;
    assert_eq!(replied.statuses(), [("long", "ok")]);
    assert_eq!(result["data"], "🦊".repeat(64 * 1024 / 4));
    let note = "only the beginning: the answer was too long";
    assert_eq!(result["note"], note);
}

#[tokio::test]
async fn a_truncated_call_is_not_executed() {
    for reason in [FinishReason::Length, FinishReason::ContentFilter] {
        let fake_tools: Arc<FakeTools> = Arc::default();
        let cut = vec![call("time", "{}"), end(reason)];
        let replied = reply(request_with(&fake_tools, &["time"]), vec![cut]).await;
        assert_eq!(replied.end, Ok((reason, None)));
        assert!(fake_tools.calls().is_empty() && replied.calls.is_empty());
        assert_eq!(replied.requests.len(), 1);
    }
}

#[tokio::test]
async fn a_dropped_reply_stops_the_tool() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["hangs"]);
    let mut replying = Box::pin(reply(request, vec![response(&[call("hangs", "{}")])]));
    while fake_tools.calls().is_empty() {
        assert!(futures::poll!(&mut replying).is_pending());
        tokio::task::yield_now().await;
    }
    drop(replying);
    assert_eq!(Arc::strong_count(&fake_tools), 1, "the tool was dropped");
}

#[tokio::test]
async fn the_length_of_a_reply_is_limited_over_all_rounds() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let long = "a".repeat(600 * 1024);
    let responses = vec![
        response(&[text(&long), call("time", "{}")]),
        response(&[text(&long)]),
    ];
    let replied = reply(request_with(&fake_tools, &["time"]), responses).await;
    assert!(replied.cause().contains("reply is too long"));
}

#[tokio::test]
async fn an_empty_response_is_not_a_reply() {
    let replied = reply(request(0), vec![response(&[])]).await;
    assert!(replied.cause().contains("empty reply"), "{replied:?}");
    for (before, after) in [("", ""), ("Let me look.", ""), ("Let me look.", "\n")] {
        let fake_tools = Arc::default();
        let first = response(&[text(before), call("time", "{}")]);
        let responses = vec![first, response(&[text(after)])];
        let replied = reply(request_with(&fake_tools, &["time"]), responses).await;
        assert!(replied.cause().contains("empty reply"), "{replied:?}");
    }
}

#[tokio::test]
async fn an_empty_response_with_another_finish_reason_is_a_reply() {
    for reason in [FinishReason::Length, FinishReason::ContentFilter] {
        let fake_tools = Arc::default();
        let responses = vec![response(&[call("time", "{}")]), vec![end(reason)]];
        let replied = reply(request_with(&fake_tools, &["time"]), responses).await;
        assert_eq!(replied.end, Ok((reason, None)));
    }
}
