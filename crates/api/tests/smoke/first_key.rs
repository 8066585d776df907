//! The first key of a store after a failed first start.

use std::{net::TcpListener, path::Path};

use crate::{
    postgres::Database,
    process::{RunningService, folder, printed, refusal, service},
    requests::{shown_at_first_start, status},
    unwritable_log::without_reader,
};

/// Asserts that the next start prints a valid key, the only one of the store.
pub(crate) async fn assert_next_start_prints_the_key(folder: &Path) {
    let first = RunningService::start(folder, &[]);
    let console = format!("\n    {}/console\n", first.url);
    first.abort();
    let (_, log) = first.wait_for_exit();
    let (key, _) = shown_at_first_start(&log);
    assert!(log.contains(&console), "{log}");
    let second = RunningService::start(folder, &[]);
    assert_eq!(status(&second.url, &key, "/api/agents").await, 200);
    let listed = printed(folder, &["keys", "list"]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
    second.abort();
    let (_, log) = second.wait_for_exit();
    assert!(!log.contains("agk_"), "{log}");
}

#[tokio::test]
async fn a_start_on_a_used_port_leaves_the_first_key_to_the_next_start() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let log = refusal(folder.path(), &[], &[("SERVER__PORT", &port)]);
    assert!(log.contains("cannot listen"), "{log}");
    assert!(log.contains("another program uses the port"), "{log}");
    assert!(log.contains("set SERVER__PORT to another port"), "{log}");
    assert!(!log.contains("agk_"), "{log}");
    assert_next_start_prints_the_key(folder.path()).await;
}

#[tokio::test]
async fn a_start_that_cannot_print_leaves_the_first_key_to_the_next_start() {
    let folder = folder();
    let command = service(folder.path(), &[], &[("SERVER__PORT", "0")]);
    let mut running = RunningService::of(without_reader(command));
    running.wait_for_status(200).await;
    running.abort();
    running.process.wait().expect("an end");
    assert_next_start_prints_the_key(folder.path()).await;
}

#[tokio::test]
async fn two_first_starts_on_one_postgres_database_print_one_key() {
    let (folder, database) = (folder(), Database::make().await);
    let url = database.url();
    let settings = [("SERVER__PORT", "0"), ("DATABASE_URL", &url)];
    let start = || {
        let mut command = service(folder.path(), &[], &settings);
        command.spawn().expect("the binary starts")
    };
    // Both processes run at the same time.
    let logs = [start(), start()].map(|process| {
        let running = RunningService::listening(process);
        running.abort();
        running.wait_for_exit().1
    });
    let printed = logs.iter().filter(|log| log.contains("agk_"));
    assert_eq!(printed.count(), 1, "{logs:?}");
}

#[tokio::test]
async fn without_a_console_the_first_key_is_shown_without_its_address() {
    let folder = folder();
    let settings = [("SERVER__PORT", "0"), ("CONSOLE__ENABLED", "false")];
    let running = RunningService::of(service(folder.path(), &[], &settings));
    running.abort();
    let (_, log) = running.wait_for_exit();
    assert!(log.contains("agk_") && !log.contains("/console"), "{log}");
}

#[tokio::test]
async fn a_start_warns_about_variables_that_are_nearly_settings() {
    let folder = folder();
    let settings = [
        ("SERVER__PORT", "0"),
        ("SERVER_HOST", "0.0.0.0"),
        ("LOG_LEVEL", "debug"),
    ];
    let running = RunningService::of(service(folder.path(), &[], &settings));
    running.abort();
    let (_, log) = running.wait_for_exit();
    for warning in [
        "SERVER_HOST is ignored; the setting is SERVER__HOST",
        "LOG_LEVEL is ignored; the setting is LOG__LEVEL",
    ] {
        let lines = log.lines().filter(|line| line.contains(warning));
        assert_eq!(
            lines.filter(|line| line.contains("WARN")).count(),
            1,
            "{log}"
        );
    }
}
