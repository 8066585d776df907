//! Compares the documentation with the code: the example engine, the tables of settings, scopes,
//! operations and error codes, and all commands and settings in examples.

use api::{cli::CommandLine, operations, settings::Settings};
use clap::Parser as _;
use domain::{ProblemCode, Scope};
use futures::StreamExt as _;
use kit::operations::{Access, Operation};
use ports::{ModelChunk, ReplyEngine as _};
use shout_engine::ShoutEngine;

const ACCESS: &str = include_str!("../../../docs/access.md");
const CONFIGURATION: &str = include_str!("../../../docs/configuration.md");
const ERRORS: &str = include_str!("../../../docs/errors.md");
const EXTENDING: &str = include_str!("../../../docs/extending.md");
const FRONTEND: &str = include_str!("../../../docs/frontend.md");
const IDENTITY_PROVIDERS: &str = include_str!("../../../docs/identity-providers.md");
const MODELS: &str = include_str!("../../../docs/llm.md");
const SECURITY: &str = include_str!("../../../SECURITY.md");
const TOOLS: &str = include_str!("../../../docs/tools.md");

/// The prefixes of the settings in examples.
const SETTINGS: [&str; 4] = ["AUTH__", "LLM__", "MCP__", "SERVER__"];

#[path = "../examples/shout_engine.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "it is a program of its own, with a `main`"
)]
mod shout_engine;

#[expect(clippy::unused_async, reason = "the contract awaits its fixture")]
async fn fixture() -> Box<ShoutEngine> {
    Box::new(ShoutEngine)
}

contract::reply_engine_contract!(crate::fixture);

#[test]
fn the_documentation_shows_the_example_as_it_is() {
    let example = include_str!("../examples/shout_engine.rs");
    assert!(
        EXTENDING.contains(&format!("```rust\n{example}```\n")),
        "copy crates/api/examples/shout_engine.rs into docs/extending.md"
    );
}

#[tokio::test]
async fn the_example_repeats_a_message_in_capitals() {
    let request = contract::reply_engine::request(0);
    let shouted = format!("{}!", request.message.to_uppercase());
    let mut response = ShoutEngine.request(request).await.unwrap();
    let first = response.next().await.unwrap().unwrap();
    assert_eq!(first, ModelChunk::Text(shouted));
}

#[test]
fn the_documentation_names_every_setting() {
    let missing: Vec<_> = api::settings::keys()
        .into_iter()
        .map(|key| key.variable)
        .filter(|variable| !CONFIGURATION.contains(&format!("`{variable}`")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/configuration.md lacks {missing:?}"
    );
}

#[test]
fn the_documentation_lists_every_error_code() {
    for code in ProblemCode::ALL {
        let retryable = if code.is_retryable() { "yes" } else { "no" };
        let row = format!("| `{}` | {} | {retryable} |", code.as_str(), code.status());
        assert!(ERRORS.contains(&row), "docs/errors.md lacks {row}");
    }
}

/// The required credential of an operation, as the documentation names it.
fn required(access: Access) -> String {
    match access {
        Access::Public => "no credential".to_owned(),
        Access::AnyCredential => "any credential".to_owned(),
        Access::AnyOf(scopes) => {
            let scopes: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
            scopes.join(" or ")
        }
    }
}

/// Fails unless docs/access.md has a table of two columns with exactly these rows.
fn assert_in_access(rows: &[String]) {
    let table = rows.join("\n");
    let is_there = ACCESS.contains(&format!("|---|---|\n{table}\n\n"));
    assert!(is_there, "docs/access.md lacks this table:\n{table}");
}

#[test]
fn the_documentation_describes_every_scope() {
    let row = |scope: &Scope| format!("| `{scope}` | {} |", scope.description().trim());
    let rows: Vec<String> = Scope::ALL.iter().map(row).collect();
    assert_in_access(&rows);
}

#[test]
fn the_documentation_lists_what_every_operation_requires() {
    let row = |operation: &Operation| {
        let Operation {
            method,
            path,
            access,
            ..
        } = operation;
        format!("| `{method} {path}` | {} |", required(*access))
    };
    let rows: Vec<String> = operations::table().all().map(row).collect();
    assert_in_access(&rows);
}

/// The lines of every block of code in this language.
fn blocks<'a>(document: &'a str, language: &str) -> Vec<Vec<&'a str>> {
    let begin = format!("\n```{language}\n");
    let blocks = document.split(&*begin).skip(1);
    let lines = blocks.map(|block| {
        let (lines, _) = block.split_once("\n```").expect("the end of a block");
        lines.lines().collect()
    });
    lines.collect()
}

#[test]
fn every_command_of_the_documentation_is_understood() {
    for (document, at_least) in [
        (ACCESS, 9),
        (CONFIGURATION, 1),
        (FRONTEND, 1),
        (SECURITY, 8),
    ] {
        let lines = blocks(document, "sh").into_iter().flatten();
        let commands = lines.filter(|line| line.starts_with("agent-service "));
        let mut count = 0;
        for command in commands {
            count += 1;
            CommandLine::try_parse_from(command.split_whitespace())
                .unwrap_or_else(|error| panic!("{command}: {error}"));
        }
        assert!(count >= at_least, "{count} commands were found");
    }
}

#[test]
fn the_configuration_file_of_the_documentation_is_valid() {
    let (_, block) = CONFIGURATION.split_once("\n```toml\n").expect("a file");
    let (text, _) = block.split_once("\n```\n").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("service.toml");
    std::fs::write(&path, text).expect("a file in it");
    let key = "LLM__PROVIDERS__SPARE__API_KEY";
    assert!(CONFIGURATION.contains(&format!("`{key}`")));
    let variables = [(key.to_owned(), "sk-spare".to_owned())];
    let settings = Settings::load(Some(&path), variables).expect("valid settings");
    let engines = settings.models.providers.iter();
    let engines: Vec<_> = engines
        .map(|it| (&*it.engine, it.api_key.is_some()))
        .collect();
    assert_eq!(engines, [("llm", false), ("spare", true)]);
    let servers = settings.tool_servers.iter().map(|it| &*it.name);
    assert_eq!(servers.collect::<Vec<_>>(), ["everything", "remote"]);
}

/// Returns the value that a shell reads from the right side of an assignment.
fn value_in_shell(written: &str) -> String {
    let words = shlex::split(written).expect("whole quotes");
    let [value] = <[String; 1]>::try_from(words).expect("one word; quote what has spaces");
    value
}

#[test]
fn the_settings_of_the_documentation_are_valid() {
    let documents = [
        (ACCESS, 2),
        (FRONTEND, 2),
        (IDENTITY_PROVIDERS, 7),
        (MODELS, 10),
        (TOOLS, 3),
    ];
    for (document, expected) in documents {
        let blocks = blocks(document, "dotenv");
        assert_eq!(blocks.len(), expected, "blocks of settings");
        for block in blocks {
            let is_setting = |line: &&str| SETTINGS.iter().any(|it| line.starts_with(it));
            assert!(block.iter().all(is_setting), "{}", block.join("\n"));
            let settings = block.iter().map(|line| line.split_once('=').unwrap());
            let owned = settings.map(|(name, value)| (name.to_owned(), value_in_shell(value)));
            if let Err(error) = Settings::load(None, owned) {
                panic!("{}\n{error}", block.join("\n"));
            }
        }
    }
}
