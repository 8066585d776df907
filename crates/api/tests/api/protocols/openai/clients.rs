//! The official clients, unmodified.

use scripted_engine::ScriptedEngine;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    child_program,
};

/// A version of the official JavaScript client.
#[derive(Clone, Copy)]
enum Version {
    Six,
    /// It needs a newer Node.js.
    Seven,
}

/// The output of a JavaScript program with a version of the client, and the ids of the agents.
async fn run(program: &str, version: Version) -> (Value, Value) {
    match version {
        Version::Six => start(&format!("openai/{program}"), &[], "openai-6").await,
        Version::Seven => start("openai/newer_node.mjs", &[program], "openai-7").await,
    }
}

async fn start(script: &str, arguments: &[&str], package: &str) -> (Value, Value) {
    let builder = ApiServerBuilder::default();
    let engine = ScriptedEngine::new();
    let api = builder.engine("scripted", engine).start().await;
    let agents = agents(&api).await;
    let order = json!({
        "baseUrl": format!("http://{}", api.address), "key": api.writer().key(),
        "package": package, "agents": agents, "rounds": 1,
    });
    let received = child_program::run(script, arguments, &order).await;
    api.stop().await;
    (received, agents)
}

async fn agents(api: &ApiServer) -> Value {
    let rules = json!([{"pattern": "hello", "reply": "Hello you."}]);
    let rules = json!({"name": "Ada", "config": {"engine": "rules", "rules": rules}});
    let scripted = json!({"name": "Echo", "config": {"engine": "scripted"}});
    json!({
        "rules": id_of(&api.agent(rules).await), "scripted": id_of(&api.agent(scripted).await),
    })
}

fn assert_error(error: &Value, name: &str, status: u16, code: &str) {
    let expected = (&json!(name), &json!(status), &json!(code));
    assert_eq!(
        (&error["name"], &error["status"], &error["code"]),
        expected,
        "{error}"
    );
}

async fn the_official_client_works(version: Version) {
    let (received, agents) = run("client.mjs", version).await;
    assert_replies(&received);
    let models = &received["models"];
    assert_eq!(models["listed"].as_array().expect("a list").len(), 2);
    assert_eq!(models["byId"]["id"], agents["rules"]);
    assert_eq!(models["byName"], models["byId"]);
    assert_errors(&received["errors"]);
    assert_photo(&received["photo"]);
    assert_repeats(&received);
    assert_ends(&received);
}

fn assert_photo(received: &Value) {
    let seen = "See image/png:33 text/plain:5";
    assert_eq!(received["texts"], json!([seen, seen]));
    let files = json!([
        {"name": "file.png", "mediaType": "image/png", "bytes": 33},
        {"name": "note.txt", "mediaType": "text/plain", "bytes": 5},
    ]);
    assert_eq!(received["files"], files);
    let error = &received["error"];
    assert_error(error, "BadRequestError", 400, "file_type_not_accepted");
    assert_eq!(error["param"], "messages[0].content[1].image_url.url");
}

fn assert_replies(received: &Value) {
    let created = &received["create"];
    assert!(
        created["id"]
            .as_str()
            .expect("an id")
            .starts_with("chatcmpl-")
    );
    assert!(
        (-5..60).contains(&created["age"].as_i64().expect("seconds")),
        "{created}"
    );
    let choice = &created["choices"][0];
    assert_eq!(choice["message"]["content"], "Hello you.");
    assert_eq!(choice["finish_reason"], "stop");

    let usage = json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10});
    let streamed = json!({
        "text": "word1 word2 word3", "roles": ["assistant"], "ends": ["length"], "usage": usage,
        "ids": 1, "error": null,
    });
    assert_eq!(received["stream"], streamed);
    let message = &received["streamHelper"]["choices"][0]["message"];
    assert_eq!(message["content"], "word1 word2 word3");
}

fn assert_errors(errors: &Value) {
    assert_error(
        &errors["unknownModel"],
        "NotFoundError",
        404,
        "agent_not_found",
    );
    assert_error(
        &errors["unknownId"],
        "NotFoundError",
        404,
        "agent_not_found",
    );
    assert_error(
        &errors["tools"],
        "BadRequestError",
        400,
        "validation_failed",
    );
    assert_error(
        &errors["credential"],
        "AuthenticationError",
        401,
        "invalid_credentials",
    );
    assert_eq!(errors["tools"]["param"], "tool_choice");
}

/// The client repeats requests only where it helps, and nothing is sent twice.
fn assert_repeats(received: &Value) {
    let retries = &received["retriesWhatCanSucceed"];
    assert_error(
        &retries["error"],
        "InternalServerError",
        503,
        "engine_unavailable",
    );
    assert_eq!(
        (&retries["requests"], &retries["refusedRequests"]),
        (&json!(3), &json!(1))
    );
    let cancelled = &received["cancelledTurnIsFinal"];
    assert_error(&cancelled["error"], "ConflictError", 409, "turn_cancelled");
    assert_eq!(cancelled["requests"], 1);
    let lost = json!({"isSame": true, "retries": ["0", "1"], "once": 2, "twice": 4});
    assert_eq!(received["lostResponseIsNotSentTwice"], lost);
}

/// The client reports every end of a stream as what it is.
fn assert_ends(received: &Value) {
    let failed = &received["failsInTheMiddle"];
    assert_eq!(
        (&failed["text"], &failed["ends"]),
        (&json!("word1 word2 word3"), &json!([]))
    );
    assert_eq!(failed["error"]["code"], "engine_failed");
    let cut = &received["isCutInTheMiddle"];
    assert_eq!((&cut["ends"], &cut["hasText"]), (&json!([]), &json!(true)));
    assert!(cut["error"].is_string(), "half a reply looks whole: {cut}");

    let aborted = &received["isAborted"];
    for way in ["ephemeral", "kept"] {
        assert_eq!(
            aborted[way],
            json!({"text": "word1", "ends": [], "error": null})
        );
    }
    let whole = (1..=10)
        .map(|number| format!("word{number}"))
        .collect::<Vec<_>>();
    assert_eq!(aborted["reply"], whole.join(" "), "a stored turn continues");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_6_works() {
    the_official_client_works(Version::Six).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_7_works() {
    the_official_client_works(Version::Seven).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_clients_run_their_own_tools() {
    for (script, arguments) in [
        ("openai/actions.mjs", &["6"][..]),
        ("openai/newer_node.mjs", &["actions.mjs", "7"][..]),
    ] {
        let result = child_program::run_with_binary(script, arguments).await;
        assert_eq!(
            (&result["passed"], &result["of"]),
            (&json!(7), &json!(7)),
            "{result}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_reply_never_looks_whole() {
    for version in [Version::Six, Version::Seven] {
        let (counts, _) = run("cuts.mjs", version).await;
        // One for each boundary, before the first data and after the last.
        assert_eq!(counts["runs"], 44, "{counts}");
        assert!(counts["errors"].as_u64() > Some(0), "{counts}");
        for never in ["halfAsWhole", "notOneTurn", "storedOtherText"] {
            assert_eq!(counts[never], 0, "{counts}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_python_client_works() {
    let (received, agents) = start("openai/client.py", &[], "").await;
    assert_eq!(
        received["create"]["choices"][0]["message"]["content"],
        "Hello you."
    );
    let streamed = &received["stream"];
    assert_eq!(
        (&streamed["text"], &streamed["ends"]),
        (&json!("word1 word2 word3"), &json!(["stop"]))
    );
    assert_eq!(streamed["usage"]["total_tokens"], 10);
    assert_eq!(received["streamAsync"], "one two three");
    let failed = &received["failsInTheMiddle"];
    assert_eq!(
        (&failed["ends"], &failed["error"]["code"]),
        (&json!([]), &json!("engine_failed"))
    );
    let models = &received["models"];
    assert_eq!(
        (&models["byId"], &models["byName"]),
        (&agents["rules"], &agents["rules"])
    );
    let photo = json!({"texts": ["See image/png:33", "See image/png:33"], "types": ["image/png"]});
    assert_eq!(received["photo"], photo);
    assert_errors_of_python(&received["errors"], &received["retries"]["error"]);
    let retries = &received["retries"];
    assert_eq!(
        (&retries["requests"], &retries["refused"]),
        (&json!(["0", "1", "2"]), &json!(1))
    );
    assert_eq!(
        received["lostResponse"],
        json!({"requests": ["0", "1"], "messages": 2})
    );
    let results = json!([{"called": "open_cart", "given": {}}]);
    let tools = json!({
        "ends": ["tool_calls", "stop"], "text": "It is open.",
        "turns": [{"status": "completed", "results": results}],
    });
    assert_eq!(received["tools"], json!([tools, tools]));
}

fn assert_errors_of_python(errors: &Value, after_retries: &Value) {
    for (error, name, status, code) in [
        (
            &errors["unknownModel"],
            "NotFoundError",
            404,
            "agent_not_found",
        ),
        (
            &errors["severalReplies"],
            "BadRequestError",
            400,
            "validation_failed",
        ),
        (
            &errors["credential"],
            "AuthenticationError",
            401,
            "invalid_credentials",
        ),
        (
            after_retries,
            "InternalServerError",
            503,
            "engine_unavailable",
        ),
    ] {
        assert_error(error, name, status, code);
    }
}
