//! The built binary as an operator meets it: its commands, its first start, its end.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use domain::{CredentialKind, CredentialSecret};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A command line of the service, in a folder and an environment of the test's own.
fn service(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agent-service"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = service(folder, arguments, variables);
    command.output().expect("the binary starts")
}

/// What a command that succeeds prints.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments, &[]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What a command that fails says about it.
fn refusal(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = run(folder, arguments, variables);
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    told
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

/// A service that is up. It is killed when the test fails before its end.
struct Running {
    process: Child,
    url: String,
}

impl Running {
    /// Starts it on a free port and waits until it listens.
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut process = service(folder, arguments, &[("SERVER__PORT", "0")])
            .spawn()
            .expect("the binary starts");
        let out = process.stdout.take().expect("its stdout");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("a line");
        let url = line.trim_end().strip_prefix("listening on ");
        let url = url.unwrap_or_else(|| panic!("'{line}' names no address"));
        let url = url.to_owned();
        Self { process, url }
    }

    fn signal(&self, name: &str) {
        let command = format!("kill -s {name} {}", self.process.id());
        let sent = Command::new("sh").args(["-c", &command]).status();
        assert!(sent.expect("a shell").success());
    }

    /// Waits for the end; answers the exit code and all it said on stderr.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut told = String::new();
        let stderr = self.process.stderr.as_mut().expect("its stderr");
        stderr.read_to_string(&mut told).expect("UTF-8");
        let status = self.process.wait().expect("an end");
        (status.code(), told)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The minted key and the line to try it, out of what a first start says.
fn shown_at_first_start(told: &str) -> (String, String) {
    let lines = || told.lines().map(str::trim);
    let key = lines().find(|line| CredentialSecret::parse(CredentialKind::Key, line).is_ok());
    let curl = lines().find(|line| line.starts_with("curl "));
    let key = key.unwrap_or_else(|| panic!("no key in {told}"));
    let curl = curl.unwrap_or_else(|| panic!("no curl line in {told}"));
    (key.to_owned(), curl.to_owned())
}

/// The words of a command line whose quotes are single ones.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), line);
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').expect("a closing quote"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// Sends the request that a curl line describes.
async fn send_as_curl(line: &str) -> Value {
    let words = words(line);
    let behind = |flag: &'static str| {
        let pairs = words.windows(2).filter(move |pair| pair[0] == flag);
        pairs.map(|pair| pair[1].as_str()).collect::<Vec<_>>()
    };
    let method = behind("-X")[0].parse().expect("a method");
    let url = words
        .iter()
        .find(|word| word.starts_with("http"))
        .expect("a URL");
    let mut request = reqwest::Client::new().request(method, url);
    for header in behind("-H") {
        let (name, value) = header.split_once(": ").expect("a header");
        request = request.header(name, value);
    }
    let request = request.body(behind("-d")[0].to_owned());
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), 201);
    answer.json().await.expect("JSON")
}

async fn post(url: &str, key: &str, path: &str, body: Value) -> Value {
    let request = reqwest::Client::new().post(format!("{url}{path}"));
    let answer = request.header("X-API-Key", key).json(&body).send().await;
    let answer = answer.expect("an answer");
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    answer.json().await.expect("JSON")
}

async fn status(url: &str, key: &str, path: &str) -> u16 {
    let request = reqwest::Client::new().get(format!("{url}{path}"));
    let answer = request.header("X-API-Key", key).send().await;
    answer.expect("an answer").status().as_u16()
}

/// A connection that was used once and is kept for later.
fn kept_alive(url: &str) -> TcpStream {
    let address = url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).expect("a connection");
    let request = format!("GET /livez HTTP/1.1\r\nHost: {address}\r\n\r\n");
    connection
        .write_all(request.as_bytes())
        .expect("it is sent");
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        let mut byte = [0];
        connection.read_exact(&mut byte).expect("an answer");
        answer.push(byte[0]);
    }
    connection
}

#[tokio::test]
async fn a_first_start_shows_a_key_and_a_line_that_works_and_a_second_one_shows_none() {
    let folder = folder();
    let at = folder.path();
    let first = Running::start(at, &[]);
    let url = first.url.clone();
    let asked = run(at, &["healthcheck", "--url", &url], &[]);
    assert_eq!(String::from_utf8_lossy(&asked.stdout), "ready\n");
    let create = ["keys", "create", "--name", "ci", "--scopes", "agents:read"];
    let beside = printed(at, &create);
    assert_eq!(status(&url, beside.trim_end(), "/api/agents").await, 200);

    let mut idle = kept_alive(&url);
    first.signal("TERM");
    let ending = Instant::now();
    let (code, told) = first.ended();
    assert_eq!(code, Some(0), "{told}");
    assert!(
        ending.elapsed() < Duration::from_secs(15),
        "an idle connection holds it up"
    );
    let mut nothing = Vec::new();
    idle.read_to_end(&mut nothing).expect("an end in order");
    assert_eq!(nothing, b"");
    let (key, curl) = shown_at_first_start(&told);
    assert_eq!(
        told.matches(&key).count(),
        2,
        "alone and in the line: {told}"
    );

    let second = Running::start(at, &["serve", "--no-migrate"]);
    let agent = send_as_curl(&curl.replace(&url, &second.url)).await;
    let command = json!({"agentId": agent["id"], "message": "Who are you?"});
    let reply = post(&second.url, &key, "/api/chat", command).await;
    let message = reply["message"].as_str().expect("a reply");
    assert!(message.contains("Ada"), "{message}");
    second.signal("TERM");
    second.signal("INT");
    let (code, told) = second.ended();
    assert_eq!(code, Some(1), "a second signal aborts: {told}");
    assert!(!told.contains("agk_"), "{told}");
}

#[tokio::test]
async fn keys_are_made_listed_and_revoked_on_the_store_itself() {
    let folder = folder();
    let at = folder.path();
    assert_eq!(
        printed(at, &["keys", "list"]),
        "",
        "also on a store that nobody has used"
    );
    let create = [
        "keys",
        "create",
        "--name",
        "ci",
        "--scopes",
        "agents:read,chat:write",
    ];
    let made = printed(at, &create);
    let key = CredentialSecret::parse(CredentialKind::Key, made.trim_end()).expect("the key alone");
    let id = key.id().to_string();
    let listed = printed(at, &["keys", "list"]);
    assert_eq!(
        listed,
        format!(
            "{id}  …{}  valid  ci  agents:read,chat:write\n",
            key.last4()
        )
    );
    assert!(!listed.contains(made.trim_end()));
    printed(at, &["keys", "revoke", &id]);
    assert!(printed(at, &["keys", "list"]).contains("  revoked 20"));
    let unknown = refusal(at, &["keys", "revoke", "000000000000"], &[]);
    assert!(unknown.contains("000000000000"), "{unknown}");

    // A store that has held a key mints none, so this start has nothing to show.
    let running = Running::start(at, &[]);
    assert_eq!(
        status(&running.url, made.trim_end(), "/api/agents").await,
        401
    );
    running.signal("TERM");
    running.signal("INT");
    assert!(!running.ended().1.contains("agk_"));
}

#[test]
fn tenants_are_made_and_listed() {
    let folder = folder();
    let at = folder.path();
    printed(at, &["tenants", "create", "acme"]);
    let listed = printed(at, &["tenants", "list"]);
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split("  ").next())
        .collect();
    assert_eq!(names, ["acme", "default"]);
    let again = refusal(at, &["tenants", "create", "acme"], &[]);
    assert!(
        again.contains("acme") && again.contains("exists"),
        "{again}"
    );
    let create = [
        "keys",
        "create",
        "--name",
        "ci",
        "--scopes",
        "agents:read",
        "--tenant",
    ];
    printed(at, &[&create[..], &["acme"]].concat());
    let nowhere = refusal(at, &[&create[..], &["nowhere"]].concat(), &[]);
    assert!(nowhere.contains("nowhere"), "{nowhere}");
    assert_eq!(
        printed(at, &["keys", "list"]),
        "",
        "the default tenant has none"
    );
    assert!(printed(at, &["keys", "list", "--tenant", "acme"]).contains("agents:read"));
}

#[test]
fn without_leave_to_migrate_a_new_store_is_refused() {
    let folder = folder();
    let at = folder.path();
    let told = refusal(at, &["serve", "--no-migrate"], &[("SERVER__PORT", "0")]);
    assert!(told.contains("agent-service migrate"), "{told}");
    let first = printed(at, &["migrate"]);
    assert!(!first.starts_with('0'), "{first}");
    assert_eq!(printed(at, &["migrate"]), "0 migration(s) carried out\n");
    let running = Running::start(at, &["serve", "--no-migrate"]);
    assert!(
        running.url.starts_with("http://127.0.0.1:"),
        "{}",
        running.url
    );
    let told = refusal(at, &["serve"], &[("SERVER__PORT", "0")]);
    assert!(
        told.contains("store"),
        "one process serves a SQLite store: {told}"
    );
}

#[test]
fn nobody_is_let_in_from_elsewhere_by_a_key_that_was_not_chosen() {
    let folder = folder();
    let at = folder.path();
    let anywhere = [("SERVER__HOST", "0.0.0.0"), ("SERVER__PORT", "0")];
    let told = refusal(at, &[], &anywhere);
    assert!(
        told.contains("AUTH__BOOTSTRAP_KEY") && told.contains("keys generate"),
        "{told}"
    );
    assert!(!told.contains("agk_"), "{told}");
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
    let running = Running {
        process,
        url: line.trim_end().to_owned(),
    };
    assert!(
        running.url.starts_with("listening on http://0.0.0.0:"),
        "{}",
        running.url
    );
    running.signal("TERM");
    running.signal("INT");
    assert!(
        !running.ended().1.contains(key),
        "a chosen key is never shown"
    );
}

#[test]
fn what_is_wrong_with_the_configuration_is_named() {
    let folder = folder();
    let at = folder.path();
    assert_eq!(
        printed(at, &["config", "check"]),
        "the configuration is valid\n"
    );
    let wrong = [
        ("SERVER__PROT", "1"),
        ("LIMITS__BODY_SECONDS", "soon"),
        ("AUTH__BOOTSTRAP_KEY", "agk_secret"),
    ];
    for arguments in [&["config", "check"][..], &["serve"]] {
        let told = refusal(at, arguments, &wrong);
        for (name, value) in wrong {
            assert!(told.contains(name), "{name} is missing in {told}");
            assert!(
                name == "SERVER__PROT" || !told.contains(value),
                "{value} is shown in {told}"
            );
        }
    }
    let unknown = refusal(at, &["config", "check"], &[("ENGINES__DEFAULT", "oracle")]);
    assert!(unknown.contains("oracle"), "{unknown}");
    assert!(!at.join("data").exists(), "nothing was opened");
}

#[test]
fn the_document_is_printed_and_nothing_else() {
    let folder = folder();
    let printed = printed(folder.path(), &["openapi"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(document["openapi"], "3.1.0");
    assert!(
        !folder.path().join("data").exists(),
        "no store is needed for it"
    );
}

#[test]
fn a_service_that_is_not_there_is_not_healthy() {
    let folder = folder();
    // Nothing listens on a port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", free.local_addr().expect("its address"));
    drop(free);
    let told = refusal(folder.path(), &["healthcheck", "--url", &url], &[]);
    assert!(told.contains(&url), "{told}");
}
