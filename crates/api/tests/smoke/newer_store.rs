//! A store that a newer version of the service has migrated.

use api::cli::CommandLine;
use clap::CommandFactory as _;
use contract::fixture::LATER_MIGRATION;
use sqlx::{Connection, Executor, PgConnection, SqliteConnection};

use crate::{
    chat_client::key,
    postgres::Database,
    process::{folder, refusal, run},
};

/// All commands on a store.
const COMMANDS: [&str; 16] = [
    "serve",
    "serve --no-migrate",
    "migrate",
    "keys create --name ci --scopes agents:read",
    "keys list",
    "keys rotate 0123456789ab",
    "keys revoke 0123456789ab",
    "clients create --name ci --scopes agents:read",
    "clients list",
    "clients rotate 0123456789ab",
    "clients revoke 0123456789ab",
    "signing-keys list",
    "signing-keys rotate",
    "signing-keys rotate --drop-old",
    "tenants create acme",
    "tenants list",
];

const COMMANDS_WITHOUT_STORE: [&str; 5] = [
    "keys generate",
    "config check",
    "openapi",
    "asyncapi",
    "healthcheck",
];

/// The subcommands of a command that have none themselves, such as `keys list`.
fn leaves(command: &clap::Command) -> Vec<String> {
    let leaves = command.get_subcommands().flat_map(|subcommand| {
        let name = subcommand.get_name();
        if subcommand.has_subcommands() {
            let leaves = leaves(subcommand).into_iter();
            leaves.map(|leaf| format!("{name} {leaf}")).collect()
        } else {
            vec![name.to_owned()]
        }
    });
    leaves.collect()
}

#[test]
fn every_command_is_known_to_work_on_a_store_or_without_one() {
    let leaves = leaves(&CommandLine::command());
    assert!(leaves.len() > COMMANDS_WITHOUT_STORE.len());
    for leaf in leaves {
        let with_options = format!("{leaf} ");
        let is_known = |it: &&str| *it == leaf || it.starts_with(&with_options);
        let is_on_store = COMMANDS.iter().any(is_known);
        let is_without = COMMANDS_WITHOUT_STORE.iter().any(is_known);
        assert!(is_on_store != is_without, "{leaf}");
    }
}

/// Migrates a store as a newer version does, and asserts that every command rejects it.
async fn assert_rejected_by_every_command<C>(url: &str)
where
    C: Connection,
    for<'c> &'c mut C: Executor<'c>,
{
    let folder = folder();
    let at = folder.path();
    let settings = [("SERVER__PORT", "0"), ("DATABASE_URL", url)];
    let migrated = run(at, &["migrate"], &settings);
    assert!(migrated.status.success(), "{migrated:?}");
    let mut newer = C::connect(url).await.expect("a connection");
    newer.execute(LATER_MIGRATION).await.expect("a row");
    newer.close().await.expect("an end");
    for command in COMMANDS {
        let arguments: Vec<&str> = command.split(' ').collect();
        let text = refusal(at, &arguments, &settings);
        assert_is_refusal(&text, command);
    }
}

fn assert_is_refusal(text: &str, command: &str) {
    let line = text.lines().last().expect("a line");
    let expected = "agent-service: the store has schema version 1000, and this program knows versions \
                    up to ";
    assert!(line.starts_with(expected), "{command}: {text}");
    let advice = "; start the newer program, or restore a backup from before the upgrade";
    assert!(line.ends_with(advice), "{command}: {text}");
}

#[tokio::test]
async fn every_command_rejects_a_newer_sqlite_store() {
    let folder = folder();
    let url = format!("sqlite://{}/store.db", folder.path().display());
    assert_rejected_by_every_command::<SqliteConnection>(&url).await;
}

#[tokio::test]
async fn every_command_and_far_nodes_reject_a_newer_postgres_store() {
    let (folder, database) = (folder(), Database::make().await);
    let url = database.url();
    assert_rejected_by_every_command::<PgConnection>(&url).await;

    let key = key(folder.path());
    let far = [
        ("SERVER__PORT", "0"),
        ("DATABASE_URL", &*url),
        ("AUTH__BOOTSTRAP_KEY", &*key),
        ("AUTH__ISSUER_URL", "https://agents.example.org"),
        ("REGION__NAME", "eu"),
        ("REGION__HOME_URL", "https://us.example.org"),
        ("REGION__KEY", "the-key-of-the-far-region-in-these-tests"),
    ];
    assert_is_refusal(&refusal(folder.path(), &["serve"], &far), "far node");
}
