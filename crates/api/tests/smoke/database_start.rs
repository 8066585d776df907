//! Starts while the database cannot be used, or not in full.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::Child,
    time::{Duration, Instant},
};

use dev_tools::postgres::DurableServer;
use serde_json::json;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};

use crate::{
    chat_client::key,
    postgres::Database,
    process::{RunningService, folder, refusal, run, service},
    requests::{post, status},
};

const WAITING: &str = "waiting for the database";

/// Makes new sessions of a database read-only, or writable again.
async fn set_read_only(database: &Database, is_read_only: bool) {
    let options = database.options();
    let name = options.get_database().expect("a name").to_owned();
    let value = if is_read_only { "on" } else { "off" };
    let alter = format!("alter database {name} set default_transaction_read_only = {value}");
    let administration = options.database("postgres").connect().await;
    let mut administration = administration.expect("the server responds");
    let altered = administration.execute(AssertSqlSafe(alter)).await;
    altered.expect("the database is altered");
}

async fn post_agent(url: &str, key: &str) -> u16 {
    let request = reqwest::Client::new().post(format!("{url}/api/agents"));
    let request = request.bearer_auth(key).json(&json!({"name": "Ada"}));
    request.send().await.expect("a response").status().as_u16()
}

/// Reads the log until it contains `text`.
fn wait_for_log(process: &mut Child, text: &str) -> String {
    let mut log = BufReader::new(process.stderr.as_mut().expect("its stderr"));
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        let length = log.read_line(&mut line).expect("UTF-8");
        assert!(length > 0, "the log ends without '{text}'");
    }
    line
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_read_only_database_serves_reads_and_recovers() {
    let (folder, database) = (folder(), Database::make().await);
    let (at, key, url) = (folder.path(), key(folder.path()), database.url());
    let settings = [
        ("SERVER__PORT", "0"),
        ("DATABASE_URL", &*url),
        ("AUTH__BOOTSTRAP_KEY", &*key),
    ];
    let first = RunningService::of(service(at, &["serve"], &settings));
    post(&first.url, &key, "/api/agents", json!({"name": "Ada"})).await;
    first.abort();
    first.wait_for_exit();
    for arguments in [&["serve"][..], &["serve", "--no-migrate"]] {
        set_read_only(&database, true).await;
        let running = RunningService::of(service(at, arguments, &settings));
        assert_eq!(status(&running.url, &key, "/api/agents").await, 200);
        assert_eq!(post_agent(&running.url, &key).await, 503);
        assert_eq!(status(&running.url, "", "/readyz").await, 503);
        assert_eq!(status(&running.url, "", "/livez").await, 200);
        set_read_only(&database, false).await;
        running.wait_for_status(200).await;
        assert_eq!(post_agent(&running.url, &key).await, 201);
        running.abort();
        running.wait_for_exit();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_waits_until_a_read_only_database_can_be_migrated() {
    let (folder, database) = (folder(), Database::make().await);
    let (at, url) = (folder.path(), database.url());
    set_read_only(&database, true).await;
    let without_waiting = [("DATABASE_URL", &*url), ("DATABASE__START_SECONDS", "0")];
    for command in ["serve", "migrate"] {
        let refused = refusal(at, &[command], &without_waiting);
        assert!(
            refused.contains("the database is read-only, and"),
            "{refused}"
        );
    }
    let settings = [("SERVER__PORT", "0"), ("DATABASE_URL", &*url)];
    let mut process = service(at, &["serve"], &settings);
    let mut process = process.spawn().expect("the binary starts");
    let line = wait_for_log(&mut process, WAITING);
    assert!(
        line.contains("WARN") && line.contains("read-only"),
        "{line}"
    );
    set_read_only(&database, false).await;
    let running = RunningService::listening(process);
    running.wait_for_status(200).await;
    running.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_waits_for_a_server_that_starts_later() {
    let folder = folder();
    let at = folder.path();
    let server = DurableServer::start().expect("a server");
    server.create("agents").expect("a database");
    server.stop().expect("it stops");
    let url = server.url("agents");
    let started = spawn(at, &["serve"], &url);
    let migrating = spawn(at, &["migrate"], &url);
    let [started, migrating] = [started, migrating].map(|mut process| {
        let line = wait_for_log(&mut process, WAITING);
        assert!(line.contains("Connection refused"), "{line}");
        process
    });
    // This one is stopped before the server starts.
    let mut abandoned = spawn(at, &["serve"], &url);
    wait_for_log(&mut abandoned, WAITING);
    let abandoned = RunningService {
        process: abandoned,
        url: String::new(),
    };
    abandoned.stop();
    let stopping = Instant::now();
    assert_eq!(abandoned.wait_for_exit().0, Some(0));
    assert!(stopping.elapsed() < Duration::from_secs(3), "it waited on");

    server.restart().expect("it starts");
    let migrated = migrating.wait_with_output().expect("an end");
    assert!(migrated.status.success(), "{migrated:?}");
    let running = RunningService::listening(started);
    running.wait_for_status(200).await;
    running.abort();
}

fn spawn(folder: &Path, arguments: &[&str], url: &str) -> Child {
    let settings = [("SERVER__PORT", "0"), ("DATABASE_URL", url)];
    let mut command = service(folder, arguments, &settings);
    command.spawn().expect("the binary starts")
}

#[tokio::test]
async fn a_start_does_not_wait_for_what_only_the_operator_changes() {
    let (folder, database) = (folder(), Database::make().await);
    let options = database.options();
    let missing = options.clone().database("there_is_none_of_this_name");
    let without_tls = options.ssl_mode(sqlx::postgres::PgSslMode::Require);
    for (options, cause) in [(missing, "3D000"), (without_tls, "does not support TLS")] {
        let url = options.to_url_lossy().to_string();
        let output = run(folder.path(), &["serve"], &[("DATABASE_URL", &url)]);
        let log = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{log}");
        assert!(log.contains(cause) && !log.contains(WAITING), "{log}");
    }
}
