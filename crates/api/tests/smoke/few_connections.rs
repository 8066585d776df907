//! A service whose role has few database connections.

use std::io::{BufRead as _, BufReader};

use dev_tools::postgres::DurableServer;
use futures::future::join_all;
use serde_json::json;

use crate::{
    chat_client::key,
    process::{RunningService, folder, refusal, service},
    requests::{post, status},
};

/// A server on which the role `app` has a database of its own, and this number of connections.
fn server_granting(connections: u32) -> (DurableServer, String) {
    let server = DurableServer::start().expect("a server");
    let role = format!("create role app login password 'app' connection limit {connections}");
    server.sql("postgres", &role).expect("a role");
    let create = "create database app owner app encoding 'UTF8' template template0";
    server.sql("postgres", create).expect("a database");
    let url = format!("postgres://app:app@127.0.0.1:{}/app", server.port());
    (server, url)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_serves_with_the_connections_that_it_gets() {
    for granted in [6, 8] {
        let (_server, database) = server_granting(granted);
        let folder = folder();
        let key = key(folder.path());
        let settings = [
            ("SERVER__PORT", "0"),
            ("DATABASE_URL", &*database),
            ("AUTH__BOOTSTRAP_KEY", &*key),
        ];
        let running = RunningService::of(service(folder.path(), &["serve"], &settings));
        // More reads at once than it has connections.
        let reads = (0..32).map(|_| status(&running.url, &key, "/api/agents"));
        let reads = join_all(reads).await;
        assert!(reads.iter().all(|status| *status == 200), "{reads:?}");
        let agent = post(&running.url, &key, "/api/agents", json!({"name": "Ada"})).await;
        assert!(agent["id"].is_string(), "{agent}");
        let message = json!({"agentId": agent["id"], "message": "Who are you?"});
        let reply = post(&running.url, &key, "/api/chat", message).await;
        assert!(reply["message"].is_string(), "{reply}");
        assert_eq!(status(&running.url, "", "/readyz").await, 200);
        running.stop();
        let (code, log) = running.wait_for_exit();
        assert_eq!(code, Some(0));
        assert!(!log.contains("no signals pass"), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_waits_for_the_connections_that_it_needs_and_names_them() {
    let (server, database) = server_granting(5);
    let folder = folder();
    let settings = [("SERVER__PORT", "0"), ("DATABASE_URL", &*database)];
    let at_once = [&settings[..], &[("DATABASE__START_SECONDS", "0")]].concat();
    let refused = refusal(folder.path(), &["serve"], &at_once);
    let reason = "of the 6 connections that a process needs can be opened";
    assert!(refused.contains(reason), "{refused}");

    let mut process = service(folder.path(), &["serve"], &settings)
        .spawn()
        .expect("it starts");
    let mut log = BufReader::new(process.stderr.take().expect("its stderr"));
    let mut line = String::new();
    while !line.contains(reason) {
        line.clear();
        assert!(log.read_line(&mut line).expect("UTF-8") > 0, "the log ends");
    }
    let raise = "alter role app connection limit 6";
    server.sql("postgres", raise).expect("more connections");
    let running = RunningService::listening(process);
    assert_eq!(status(&running.url, "", "/readyz").await, 200);
}

#[test]
fn a_start_names_the_connections_that_it_needs_behind_a_pooler_too() {
    let server = DurableServer::start().expect("a server");
    server.create("agents").expect("a database");
    let settings = "session\ndefault_pool_size = 5";
    let pooler = server.start_pooler(settings).expect("a pooler");
    let (folder, database) = (folder(), pooler.url("agents"));
    let settings = [
        ("DATABASE_URL", &*database),
        ("DATABASE__START_SECONDS", "0"),
    ];
    let refused = refusal(folder.path(), &["serve"], &settings);
    let reason = "only 5 of the 6 connections that a process needs can be opened";
    assert!(refused.contains(reason), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_a_connection_to_write_is_not_ready() {
    let (server, database) = server_granting(8);
    let folder = folder();
    let key = key(folder.path());
    let settings = [
        ("SERVER__PORT", "0"),
        ("DATABASE_URL", &*database),
        ("AUTH__BOOTSTRAP_KEY", &*key),
    ];
    let running = RunningService::of(service(folder.path(), &["serve"], &settings));
    // It has read, and not written yet.
    let limit = |connections: u32| {
        let alter = format!("alter role app connection limit {connections}");
        server
            .sql("postgres", &alter)
            .expect("the limit is changed");
    };
    limit(0);
    assert_eq!(post_status(&running.url, &key).await, 503);
    assert_eq!(status(&running.url, &key, "/api/agents").await, 200);
    assert_eq!(status(&running.url, "", "/readyz").await, 503);
    limit(8);
    running.wait_for_status(200).await;
    assert_eq!(post_status(&running.url, &key).await, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_start_at_once_share_the_connections() {
    let (_server, database) = server_granting(13);
    let folders = [folder(), folder()];
    let key = key(folders[0].path());
    let settings = [
        ("SERVER__PORT", "0"),
        ("DATABASE_URL", &*database),
        ("AUTH__BOOTSTRAP_KEY", &*key),
    ];
    let started = folders.each_ref().map(|folder| {
        let mut process = service(folder.path(), &["serve"], &settings);
        process.spawn().expect("it starts")
    });
    for running in started.map(RunningService::listening) {
        running.wait_for_status(200).await;
        assert_eq!(post_status(&running.url, &key).await, 201);
    }
}

async fn post_status(url: &str, key: &str) -> u16 {
    let request = reqwest::Client::new().post(format!("{url}/api/agents"));
    let request = request.bearer_auth(key).json(&json!({"name": "Ada"}));
    request.send().await.expect("a response").status().as_u16()
}
