//! Starting and ending the service.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    time::{Duration, Instant},
};

use domain::{CredentialKind, CredentialSecret};
use serde_json::{Value, json};

use crate::{
    process::{RunningService, folder, printed, refusal, run, service},
    requests::{kept_alive, post, send_as_curl, shown_at_first_start, status},
};

#[tokio::test]
async fn only_the_first_start_prints_a_key_and_a_working_command() {
    let folder = folder();
    let at = folder.path();
    let first = RunningService::start(at, &[]);
    let url = first.url.clone();
    wait_until_healthy(at, &url);
    let create = ["keys", "create", "--name", "ci", "--scopes", "agents:read"];
    let beside = printed(at, &create);
    assert_eq!(status(&url, beside.trim_end(), "/api/agents").await, 200);

    let mut idle = kept_alive(&url);
    first.stop();
    let ending = Instant::now();
    let (code, output) = first.wait_for_exit();
    assert_eq!(code, Some(0), "{output}");
    assert!(
        ending.elapsed() < Duration::from_secs(20),
        "an idle connection holds it up"
    );
    let mut nothing = Vec::new();
    idle.read_to_end(&mut nothing).expect("an end in order");
    assert_eq!(nothing, b"");
    let (key, curl) = shown_at_first_start(&output);
    assert_eq!(
        output.matches(&key).count(),
        2,
        "alone and in the line: {output}"
    );

    let second = RunningService::start(at, &["serve", "--no-migrate"]);
    let agent = send_as_curl(&curl.replace(&url, &second.url)).await;
    let command = json!({"agentId": agent["id"], "message": "Who are you?"});
    let reply = post(&second.url, &key, "/api/chat", command).await;
    let message = reply["message"].as_str().expect("a reply");
    assert!(message.contains("Ada"), "{message}");
    second.abort();
    let (code, output) = second.wait_for_exit();
    assert_eq!(code, Some(1), "a second signal aborts: {output}");
    assert!(!output.contains("agk_"), "{output}");
}

/// Polls like a container's health check, with timeouts of three seconds.
fn wait_until_healthy(folder: &Path, url: &str) {
    let asking = Instant::now();
    loop {
        let asked = run(folder, &["healthcheck", "--url", url], &[]);
        if asked.stdout == b"ready\n" {
            return;
        }
        let output = String::from_utf8_lossy(&asked.stderr);
        assert!(asking.elapsed() < Duration::from_secs(30), "{output}");
    }
}

#[test]
fn without_permission_to_migrate_a_new_store_is_rejected() {
    let folder = folder();
    let at = folder.path();
    let output = refusal(at, &["serve", "--no-migrate"], &[("SERVER__PORT", "0")]);
    assert!(output.contains("agent-service migrate"), "{output}");
    let first = printed(at, &["migrate"]);
    assert!(!first.starts_with('0'), "{first}");
    assert_eq!(printed(at, &["migrate"]), "0 migration(s) applied\n");
    let running = RunningService::start(at, &["serve", "--no-migrate"]);
    assert!(
        running.url.starts_with("http://127.0.0.1:"),
        "{}",
        running.url
    );
    let output = refusal(at, &["serve"], &[("SERVER__PORT", "0")]);
    assert!(
        output.contains("store"),
        "one process serves a SQLite store: {output}"
    );
}

#[test]
fn a_generated_key_is_not_accepted_from_other_machines() {
    let folder = folder();
    let at = folder.path();
    let anywhere = [("SERVER__HOST", "0.0.0.0"), ("SERVER__PORT", "0")];
    let output = refusal(at, &[], &anywhere);
    assert!(
        output.contains("AUTH__BOOTSTRAP_KEY") && output.contains("keys generate"),
        "{output}"
    );
    assert!(!output.contains("agk_"), "{output}");
    let generated = printed(at, &["keys", "generate"]);
    let key = generated.trim_end();
    assert!(CredentialSecret::parse(CredentialKind::Key, key).is_ok());

    let chosen = [&anywhere[..], &[("AUTH__BOOTSTRAP_KEY", key)]].concat();
    let mut process = service(at, &[], &chosen)
        .spawn()
        .expect("the binary starts");
    let mut line = String::new();
    let out = process.stdout.take().expect("its stdout");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let running = RunningService {
        process,
        url: line.trim_end().to_owned(),
    };
    assert!(
        running.url.starts_with("listening on http://0.0.0.0:"),
        "{}",
        running.url
    );
    running.abort();
    assert!(
        !running.wait_for_exit().1.contains(key),
        "a chosen key is never shown"
    );
}

#[test]
fn an_idle_service_without_drain_delay_ends_at_once() {
    let folder = folder();
    let settings = [("SERVER__PORT", "0"), ("SERVER__DRAIN_SECONDS", "0")];
    let running = RunningService::of(service(folder.path(), &[], &settings));
    let since = Instant::now();
    running.stop();
    let (code, output) = running.wait_for_exit();
    assert_eq!(code, Some(0), "{output}");
    assert!(
        since.elapsed() < Duration::from_secs(3),
        "{:?}",
        since.elapsed()
    );
}

#[tokio::test]
async fn every_path_in_a_response_starts_with_the_public_path() {
    let folder = folder();
    let at = folder.path();
    let generated = printed(at, &["keys", "generate"]);
    let key = generated.trim_end();
    let settings = [
        ("SERVER__PORT", "0"),
        ("SERVER__PUBLIC_URL", "https://example.org/behind/a/proxy"),
        ("AUTH__BOOTSTRAP_KEY", key),
    ];
    let running = RunningService::of(service(at, &[], &settings));
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let client = client.build().expect("a client");
    let ask = |method: &str, path: &str, body: Option<Value>| {
        let method = method.parse().expect("a method");
        let request = client.request(method, format!("{}{path}", running.url));
        let request = request.header("X-API-Key", key);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        async { request.send().await.expect("an answer") }
    };
    let header = |response: &reqwest::Response, name: &str| {
        response.headers()[name].to_str().expect("text").to_owned()
    };
    let made = ask("POST", "/api/agents", Some(json!({"name": "Ada"}))).await;
    let location = header(&made, "location");
    assert!(
        location.starts_with("/behind/a/proxy/api/agents/"),
        "{location}"
    );
    ask("POST", "/api/agents", Some(json!({"name": "Bea"}))).await;
    let page = ask("GET", "/api/agents?limit=1", None).await;
    let link = header(&page, "link");
    assert!(
        link.starts_with("</behind/a/proxy/api/agents?limit=1&cursor="),
        "{link}"
    );
    let docs = ask("GET", "/docs", None).await;
    assert_eq!(header(&docs, "location"), "/behind/a/proxy/docs/");
    let problem: Value = ask("GET", "/api/agents/x", None)
        .await
        .json()
        .await
        .expect("JSON");
    assert_eq!(problem["type"], "/behind/a/proxy/problems/agent_not_found");
    assert_eq!(problem["instance"], "/behind/a/proxy/api/agents/x");
    let console = ask("GET", "/", None).await.text().await.expect("a page");
    assert!(
        console.contains("href=\"/behind/a/proxy/docs/\""),
        "{console}"
    );
    running.abort();
}
