//! A service that cannot write its log.

use std::{io::pipe, process::Command};

use serde_json::json;

use crate::{
    process::{RunningService, folder, printed, service},
    requests::post,
};

/// Connects stderr to a pipe without a reader.
pub(crate) fn without_reader(mut command: Command) -> Command {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    command.stderr(writer);
    command
}

#[tokio::test]
async fn a_service_without_a_log_serves_counts_lost_lines_and_drains() {
    let folder = folder();
    let generated = printed(folder.path(), &["keys", "generate"]);
    let key = generated.trim_end();
    let settings = [("SERVER__PORT", "0"), ("AUTH__BOOTSTRAP_KEY", key)];
    let mut running = RunningService::of(without_reader(service(folder.path(), &[], &settings)));
    post(&running.url, key, "/api/agents", json!({"name": "Ada"})).await;
    let request = reqwest::Client::new().get(format!("{}/metrics", running.url));
    let response = request.header("X-API-Key", key).send().await;
    let metrics = response.expect("an answer").text().await.expect("text");
    let dropped = metrics
        .lines()
        .find_map(|line| line.strip_prefix("log_lines_dropped "));
    let dropped: u64 = dropped.and_then(|it| it.parse().ok()).expect("a count");
    assert!(dropped > 0, "{metrics}");
    running.stop();
    let status = running.process.wait().expect("an end");
    assert_eq!(status.code(), Some(0));
}
