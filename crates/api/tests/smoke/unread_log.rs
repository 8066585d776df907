//! A service whose output is not read: a pipe of a stopped reader, a paused terminal.

use std::{
    io::{BufRead as _, BufReader, ErrorKind, PipeReader, Write as _, pipe},
    iter,
    net::TcpListener,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{task::JoinSet, time::timeout};

use crate::{
    first_key::assert_next_start_prints_the_key,
    postgres::Database,
    process::{RunningService, folder, printed, service},
    requests::post,
};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The time within which each request is answered under load.
const ANSWERED: Duration = Duration::from_secs(5);
/// The time within which a service without a drain delay and running turns ends: it waits a second
/// for its log.
const ENDED: Duration = Duration::from_secs(5);

/// A service at level `debug` whose model does not answer, with a pipe as stderr that is not read.
struct UnreadService {
    running: RunningService,
    log: PipeReader,
    key: String,
}

impl UnreadService {
    fn start(folder: &Path, database: Option<&str>) -> Self {
        let key = printed(folder, &["keys", "generate"]).trim_end().to_owned();
        let mut variables = vec![
            ("SERVER__PORT", "0"),
            ("SERVER__DRAIN_SECONDS", "0"),
            ("AUTH__BOOTSTRAP_KEY", &*key),
            // No server listens there.
            ("LLM__BASE_URL", "http://127.0.0.1:1/v1"),
            ("LLM__MODEL", "any"),
            ("LOG__LEVEL", "debug"),
            ("LIMITS__REQUESTS__PER_MINUTE", "1000000"),
            ("LIMITS__REQUESTS__BURST", "1000000"),
            ("LIMITS__CHAT__PER_MINUTE", "1000000"),
            ("LIMITS__CHAT__BURST", "1000000"),
            ("LIMITS__ADDRESS__PER_MINUTE", "1000000"),
            ("LIMITS__ADDRESS__BURST", "1000000"),
        ];
        variables.extend(database.map(|url| ("DATABASE_URL", url)));
        let mut command = service(folder, &["serve"], &variables);
        let (log, writer) = pipe().expect("a pipe");
        command.stderr(writer);
        let running = RunningService::of(command);
        Self { running, log, key }
    }

    async fn agent(&self, config: Value) -> Value {
        let draft = json!({"name": "Ada", "config": config});
        post(&self.running.url, &self.key, "/api/agents", draft).await["id"].take()
    }

    /// The status and the body of a response, which must arrive in time.
    async fn answer(&self, request: reqwest::RequestBuilder) -> (u16, String) {
        let answer = async {
            let response = request.header("X-API-Key", &self.key).send().await;
            let response = response.expect("an answer");
            (
                response.status().as_u16(),
                response.text().await.expect("text"),
            )
        };
        timeout(ANSWERED, answer).await.expect("an answer in time")
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.answer(reqwest::Client::new().get(format!("{}{path}", self.running.url)))
            .await
    }

    async fn dropped_lines(&self) -> u64 {
        let (_, metrics) = self.get("/metrics").await;
        let mut lines = metrics.lines();
        let count = lines.find_map(|line| line.strip_prefix("log_lines_dropped "));
        count.and_then(|it| it.parse().ok()).expect("a count")
    }

    fn chat(&self, agent: &Value) -> reqwest::RequestBuilder {
        let body = json!({"agentId": agent, "message": "Hello"});
        let request = reqwest::Client::new().post(format!("{}/api/chat", self.running.url));
        request.json(&body)
    }

    /// Sends requests, of which chats fail and all are logged, until lines are dropped. Meanwhile, and
    /// then, everything is answered.
    async fn load_until_lines_are_dropped(&self) {
        let failing = self.agent(json!({"engine": "llm"})).await;
        let rules = self.agent(json!({"engine": "rules"})).await;
        let live = reqwest::Client::new().get(format!("{}/livez", self.running.url));
        let mut load = JoinSet::new();
        for (request, status) in [(self.chat(&failing), 503), (live, 200)] {
            // A long line each.
            let request = request.header("X-Request-Id", "x".repeat(128));
            let request = request.header("X-API-Key", &self.key);
            for request in iter::repeat_with(|| request.try_clone().expect("no stream")).take(4) {
                load.spawn(async move {
                    loop {
                        let response = request.try_clone().expect("no stream").send().await;
                        assert_eq!(response.expect("an answer").status(), status);
                    }
                });
            }
        }
        let began = Instant::now();
        let mut answered = 0;
        while answered < 20 {
            assert!(began.elapsed() < TIMEOUT, "no line is dropped");
            answered += u64::from(self.dropped_lines().await > 0);
            assert_eq!(self.get("/livez").await.0, 200);
            assert_eq!(self.get("/readyz").await.0, 200);
            assert_eq!(self.answer(self.chat(&rules)).await.0, 200);
        }
        assert!(load.try_join_next().is_none(), "all go on");
        load.shutdown().await;
    }
}

/// Waits for the end of a process; returns its exit code.
fn code_within(limit: Duration, process: &mut Child) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = process.try_wait().expect("its status") {
            return status.code();
        }
        assert!(began.elapsed() < limit, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

async fn assert_serves_and_ends(database: Option<&str>) {
    let folder = folder();
    let mut service = UnreadService::start(folder.path(), database);
    service.load_until_lines_are_dropped().await;
    service.running.stop();
    assert_eq!(code_within(ENDED, &mut service.running.process), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_whose_log_is_not_read_serves_counts_lost_lines_and_ends() {
    assert_serves_and_ends(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_on_postgres_whose_log_is_not_read_serves_counts_lost_lines_and_ends() {
    assert_serves_and_ends(Some(&Database::make().await.url())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn once_the_log_is_read_again_it_says_how_many_lines_were_lost() {
    let folder = folder();
    let service = UnreadService::start(folder.path(), None);
    service.load_until_lines_are_dropped().await;
    let dropped = service.dropped_lines().await;
    let UnreadService {
        mut running, log, ..
    } = service;
    let lines = BufReader::new(log).lines().map(|line| line.expect("UTF-8"));
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line).expect("a whole line"));
    let lost = lines.find(|line| line["lines"].is_u64()).expect("a line");
    assert_eq!(lost["level"], "WARN");
    assert!(lost["lines"].as_u64() >= Some(dropped), "{lost}, {dropped}");
    running.stop();
    assert!(lines.any(|line| line["message"] == "shutdown complete"));
    assert_eq!(code_within(ENDED, &mut running.process), Some(0));
}

/// Connects stdout and stderr to a stream that is full and is not read until it is dropped.
fn with_full_output(mut command: Command) -> (Command, UnixStream) {
    let (reader, mut writer) = UnixStream::pair().expect("a stream");
    writer.set_nonblocking(true).expect("a stream");
    let error = loop {
        if let Err(error) = writer.write_all(&[b'\n'; 4_096]) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    writer.set_nonblocking(false).expect("a stream");
    let writer = OwnedFd::from(writer);
    command.stdout(writer.try_clone().expect("a descriptor"));
    command.stderr(writer);
    (command, reader)
}

#[tokio::test]
async fn a_service_whose_output_is_full_starts_without_a_key_and_ends() {
    let folder = folder();
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("its address");
    let port = address.port().to_string();
    let settings = [("SERVER__PORT", &*port), ("SERVER__DRAIN_SECONDS", "0")];

    let (mut command, _reader) = with_full_output(service(folder.path(), &[], &settings));
    let mut refused = command.spawn().expect("the binary starts");
    assert_eq!(
        code_within(ANSWERED, &mut refused),
        Some(1),
        "the port is used"
    );

    drop(free);
    let process = command.spawn().expect("the binary starts");
    let url = format!("http://{address}");
    let mut running = RunningService { process, url };
    running.wait_for_status(200).await;
    running.stop();
    assert_eq!(code_within(ENDED, &mut running.process), Some(0));
    assert_next_start_prints_the_key(folder.path()).await;
}
