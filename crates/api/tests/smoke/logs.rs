//! The contents of the log.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use reqwest::Method;
use scripted_engine::Script;
use serde_json::{Value, json};

use crate::{
    chat_client::{ChatClient, key, serving},
    commands_without_store::UNREACHABLE_SERVERS,
    process::{RunningService, folder, printed, service},
    requests::post,
};

/// Stops a service; returns the lines of its log.
fn logged(running: RunningService) -> Vec<Value> {
    running.abort();
    let (_, log) = running.wait_for_exit();
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let lines = lines.map(|line| serde_json::from_str(line).expect("JSON"));
    lines.collect()
}

#[tokio::test]
async fn a_token_of_an_unknown_issuer_is_rejected_and_logged() {
    let folder = folder();
    let at = folder.path();
    fs::write(
        at.join("service.toml"),
        "[log]\nlevel = \"info,access=debug\"\n",
    )
    .expect("a file");
    let running = RunningService::start(at, &["--config", "service.toml"]);
    // {"alg":"ES256","typ":"at+jwt"}, {"iss":"https://id.example/"}
    let token = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.\
                 eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUvIn0.AA";
    let request = reqwest::Client::new().get(format!("{}/api/agents", running.url));
    let response = request.bearer_auth(token).send().await.expect("an answer");
    assert_eq!(response.status(), 401);
    let lines = logged(running);
    let line = lines
        .iter()
        .find(|line| line["message"] == "access token rejected");
    let line = line.unwrap_or_else(|| panic!("no line in {lines:?}"));
    assert_eq!(line["iss"], "\"https://id.example/\"");
    assert!(
        line["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("iss")),
        "{line}"
    );
}

#[tokio::test]
async fn a_token_that_is_too_long_is_logged_once_without_its_text() {
    let folder = folder();
    let running = RunningService::start(folder.path(), &[]);
    let token = format!("eyJhbGciOiJFUzI1NiJ9.{}.AA", "Groups".repeat(3_000));
    for _ in 0..2 {
        let request = reqwest::Client::new().get(format!("{}/api/agents", running.url));
        let response = request.bearer_auth(&token).send().await.expect("an answer");
        assert_eq!(response.status(), 401);
    }
    let lines = logged(running);
    let is_about_length = |line: &&Value| {
        let message = line["message"].as_str();
        message.is_some_and(|it| it.contains("longer than 16384 bytes"))
    };
    let about: Vec<_> = lines.iter().filter(is_about_length).collect();
    assert!(
        about.len() == 1 && about[0]["bytes"] == token.len(),
        "{lines:?}"
    );
    assert!(!format!("{lines:?}").contains("Groups"), "{lines:?}");
}

#[tokio::test]
async fn a_line_has_a_trace_id_only_if_the_request_has_one() {
    let folder = folder();
    let settings = [("SERVER__PORT", "0"), ("LOG__LEVEL", "info,http=debug")];
    let running = RunningService::of(service(folder.path(), &[], &settings));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let traceparent = format!("00-{trace}-00f067aa0ba902b7-01");
    let request = || reqwest::Client::new().get(format!("{}/livez", running.url));
    for request in [request(), request().header("traceparent", traceparent)] {
        request.send().await.expect("an answer");
    }
    let lines = logged(running).into_iter();
    let completed = lines.filter(|line| line["message"] == "request completed");
    let traces: Vec<_> = completed
        .map(|line| line.get("trace_id").cloned())
        .collect();
    assert_eq!(traces, [None, Some(json!(trace))]);
}

#[tokio::test]
async fn an_engine_failure_is_logged_with_the_request_id() {
    let folder = folder();
    let at = folder.path();
    let generated = printed(at, &["keys", "generate"]);
    let key = generated.trim_end();
    // No server listens there.
    let settings = [
        ("SERVER__PORT", "0"),
        ("AUTH__BOOTSTRAP_KEY", key),
        ("LLM__BASE_URL", "http://127.0.0.1:1/v1"),
        ("LLM__MODEL", "any"),
    ];
    let running = RunningService::of(service(at, &[], &settings));
    let agent = post(&running.url, key, "/api/agents", json!({"name": "Ada"})).await;
    let request = reqwest::Client::new().post(format!("{}/api/chat", running.url));
    let request = request.header("X-API-Key", key);
    let request = request.header("X-Request-Id", "found-again");
    let question = json!({"agentId": agent["id"], "message": "Hello"});
    let response = request.json(&question).send().await.expect("an answer");
    assert_eq!(response.status(), 503);
    let problem: Value = response.json().await.expect("JSON");
    let lines = logged(running);
    let line = lines
        .iter()
        .find(|line| line["message"] == "reply engine failed");
    let line = line.unwrap_or_else(|| panic!("no line in {lines:?}"));
    assert_eq!(
        (&line["engine"], &line["request_id"]),
        (&json!("llm"), &json!("found-again"))
    );
    assert_eq!(line["turn"], problem["turnId"]);
    assert_eq!(line["conversation"], problem["conversationId"]);
    assert_eq!(
        (&line["agent"], &line["tenant"]),
        (&agent["id"], &json!("default"))
    );
}

#[tokio::test]
async fn a_panic_is_a_line_of_the_log() {
    let folder = folder();
    let key = key(folder.path());
    let running = serving(folder.path(), &key, None);
    let chat_client = ChatClient::new(&running, &key);
    let message = chat_client
        .conversation_ref()
        .await
        .message(&Script::deltas(["One."]).panic());
    let (status, _) = chat_client.spawn_chat(&message).await.expect("an answer");
    assert_eq!(status, 500);
    let lines = logged(running);
    let panicked = |line: &&Value| {
        let message = line["message"].as_str().unwrap_or_default();
        message.starts_with("panicked at ") && line["level"] == "ERROR"
    };
    assert_eq!(lines.iter().filter(panicked).count(), 1, "{lines:?}");
}

#[test]
fn the_start_logs_engines_and_tool_servers() {
    let folder = folder();
    let settings = [&UNREACHABLE_SERVERS[..], &[("SERVER__PORT", "0")]].concat();
    let lines = logged(RunningService::of(service(folder.path(), &[], &settings)));
    let named = "engines: llm (default), rules, spare; tool servers: files, remote";
    assert!(
        lines.iter().any(|line| line["message"] == named),
        "{lines:?}"
    );
}

#[test]
fn a_store_readable_by_other_users_logs_a_warning() {
    let folder = folder();
    let warnings = || {
        let lines = logged(RunningService::start(folder.path(), &[])).into_iter();
        let modes = lines.filter(|line| line["level"] == "WARN" && line["mode"].is_string());
        let modes = modes.map(|line| (line["file"].clone(), line["mode"].clone()));
        modes.collect::<Vec<_>>()
    };
    assert_eq!(warnings(), []);
    let file = folder.path().join("data/agent-service.db").canonicalize();
    let file = file.expect("the file is there");
    fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("the file is there");
    let warned = warnings();
    assert_eq!(warned[0], (json!(file), json!("644")));
}

#[tokio::test]
async fn a_clean_shutdown_logs_no_error() {
    let folder = folder();
    let running = RunningService::start(folder.path(), &[]);
    running.stop();
    running.wait_for_status(503).await;
    let lines = logged(running);
    let texts = |text: &str| lines.iter().any(|line| line["message"] == text);
    assert!(
        texts("shutdown requested; draining (a second signal aborts)"),
        "{lines:?}"
    );
    let errors: Vec<&Value> = lines
        .iter()
        .filter(|line| line["level"] == "ERROR")
        .collect();
    assert_eq!(errors, Vec::<&Value>::new());
}

#[tokio::test]
async fn no_ticket_is_logged_at_any_level() {
    let folder = folder();
    let (at, log) = (folder.path(), folder.path().join("log"));
    let generated = printed(at, &["keys", "generate"]);
    let key = generated.trim_end();
    let settings = [
        ("SERVER__PORT", "0"),
        ("AUTH__BOOTSTRAP_KEY", key),
        ("LOG__LEVEL", "trace,actix_http=trace"),
    ];
    let mut command = service(at, &[], &settings);
    // The output is larger than a pipe's buffer.
    command.stderr(fs::File::create(&log).expect("a file"));
    let mut running = RunningService::of(command);
    let made = post(&running.url, key, "/api/ws/tickets", json!({})).await;
    let good = made["ticket"].as_str().expect("a ticket");
    let guessed = format!("agt_{}", "Guess".repeat(9).split_at(43).0);
    for ticket in [&guessed, good, good] {
        let url = format!("{}/api/ws?ticket={ticket}", running.url);
        let asked = reqwest::Client::new().get(url);
        let plain = asked.try_clone().expect("no body");
        let upgrade = asked
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        for asked in [plain, upgrade] {
            asked.send().await.expect("an answer");
        }
    }
    running.abort();
    running.process.wait().expect("an end");
    let text = fs::read_to_string(&log).expect("UTF-8");
    assert!(text.contains("\"status\":401"), "{text}");
    for ticket in [&guessed, good] {
        assert!(!text.contains(&ticket[4..]), "{text}");
    }
}

#[tokio::test]
async fn a_disallowed_origin_is_warned_of_once() {
    let folder = folder();
    let allowed = "https://app.example";
    let settings = [("SERVER__PORT", "0"), ("SERVER__ALLOWED_ORIGINS", allowed)];
    let running = RunningService::of(service(folder.path(), &[], &settings));
    let own = running.url.clone();
    for method in [Method::OPTIONS, Method::GET] {
        for origin in [allowed, &own, "https://shop.example", "null"] {
            let request = reqwest::Client::new().request(method.clone(), format!("{own}/livez"));
            let request = request.header("Access-Control-Request-Method", "POST");
            let response = request.header("Origin", origin).send().await;
            assert!(response.expect("an answer").status().is_success());
        }
    }
    let lines = logged(running).into_iter();
    let warnings: Vec<_> = lines.filter(|line| line.get("origin").is_some()).collect();
    let warned: Vec<_> = warnings.iter().map(|line| &line["origin"]).collect();
    assert_eq!(warned, ["\"https://shop.example\"", "\"null\""]);
    for line in &warnings {
        assert_eq!(line["level"], "WARN");
        let message = line["message"].as_str().unwrap_or_default();
        assert!(message.contains("SERVER__ALLOWED_ORIGINS"), "{message}");
    }
}
