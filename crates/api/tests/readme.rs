//! What the documentation shows: its engine is the example that is compiled, its table of scopes is
//! that of the code, and its commands and settings are understood.

use std::collections::BTreeMap;

use api::{
    access::scope_table::{Access, TABLE},
    cli::CommandLine,
    openapi,
    settings::Settings,
};
use clap::Parser as _;
use domain::{Scope, Sizes};
use futures::StreamExt as _;
use ports::{ReplyChunk, ReplyEngine as _};
use shout_engine::ShoutEngine;

const README: &str = include_str!("../../../README.md");
const ACCESS: &str = include_str!("../../../docs/access.md");
const IDENTITY_PROVIDERS: &str = include_str!("../../../docs/identity-providers.md");
const MODELS: &str = include_str!("../../../docs/llm.md");
const SECURITY: &str = include_str!("../../../SECURITY.md");
const TOOLS: &str = include_str!("../../../docs/tools.md");

/// How settings begin that the documentation shows.
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
fn the_readme_shows_the_example_as_it_is() {
    let example = include_str!("../examples/shout_engine.rs");
    assert!(
        README.contains(&format!("```rust\n{example}```\n")),
        "copy crates/api/examples/shout_engine.rs into README.md"
    );
}

#[tokio::test]
async fn the_example_says_what_it_heard_louder() {
    let request = contract::reply_engine::request(0);
    let shouted = format!("{}!", request.message.to_uppercase());
    let mut answer = ShoutEngine.reply(request).await.unwrap();
    let first = answer.next().await.unwrap().unwrap();
    assert_eq!(first, ReplyChunk::Delta(shouted));
}

#[test]
fn the_readme_names_every_setting() {
    let missing: Vec<_> = api::settings::keys()
        .into_iter()
        .map(|key| key.variable)
        .filter(|variable| !README.contains(&format!("`{variable}`")))
        .collect();
    assert!(missing.is_empty(), "README.md lacks {missing:?}");
}

/// Method and path of every operation of the published document, by its name.
fn operations() -> BTreeMap<String, (String, String)> {
    let document = openapi::document(&Sizes::default(), "http://localhost");
    let document = document.expect("the document");
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.iter().flat_map(|(path, item)| {
        let operations = item.as_object().expect("an item").iter();
        operations.map(move |(method, operation)| {
            let id = operation["operationId"].as_str().expect("a name");
            (id.to_owned(), (method.to_uppercase(), path.clone()))
        })
    });
    operations.collect()
}

/// The operations of the scope table that ask for `wanted`, in its order, as the README writes
/// them: the methods of a path together.
fn cell(wanted: impl Fn(Access) -> bool) -> String {
    let operations = operations();
    let mut paths: Vec<(&str, Vec<&str>)> = Vec::new();
    for (id, _) in TABLE.iter().filter(|(_, access)| wanted(*access)) {
        let (method, path) = &operations[*id];
        match paths.iter_mut().find(|(known, _)| known == path) {
            Some((_, methods)) => methods.push(method),
            None => paths.push((path, vec![method])),
        }
    }
    let written = |(path, methods): (&str, Vec<&str>)| format!("`{} {path}`", methods.join(", "));
    let written: Vec<String> = paths.into_iter().map(written).collect();
    if written.is_empty() {
        return "none of its own".to_owned();
    }
    written.join(", ")
}

#[test]
fn the_readme_tells_of_each_scope_what_it_opens() {
    let mut rows: Vec<String> = Scope::ALL
        .iter()
        .map(|scope| {
            let opened = cell(|access| matches!(access, Access::AnyOf(any) if any.contains(scope)));
            format!("| `{scope}` | {} | {opened} |", scope.description().trim())
        })
        .collect();
    for (who, access) in [
        (
            "any scope, or none | With any valid credential.",
            Access::AnyCredential,
        ),
        (
            "no credential | Public; `/oauth2` authenticates clients itself.",
            Access::Public,
        ),
    ] {
        rows.push(format!("| {who} | {} |", cell(|asked| asked == access)));
    }
    let table = rows.join("\n");
    let is_there = README.contains(&format!("|---|---|---|\n{table}\n\n"));
    assert!(is_there, "README.md lacks this table of scopes:\n{table}");
}

/// The lines of every block of shell commands.
fn shell_blocks(document: &str) -> impl Iterator<Item = Vec<&str>> {
    let blocks = document.split("\n```sh\n").skip(1);
    blocks.map(|block| {
        let (lines, _) = block.split_once("\n```").expect("the end of a block");
        lines.lines().collect()
    })
}

#[test]
fn every_command_of_the_documentation_is_understood() {
    for (document, at_least) in [(README, 4), (ACCESS, 9), (SECURITY, 5)] {
        let lines = shell_blocks(document).flatten();
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
    let (_, block) = README.split_once("\n```toml\n").expect("a file");
    let (text, _) = block.split_once("\n```\n").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("service.toml");
    std::fs::write(&path, text).expect("a file in it");
    let key = "LLM__PROVIDERS__SPARE__API_KEY";
    assert!(README.contains(&format!("`{key}`")));
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

/// What a shell makes of the right side of an assignment.
fn value_in_shell(written: &str) -> String {
    let words = shlex::split(written).expect("whole quotes");
    let [value] = <[String; 1]>::try_from(words).expect("one word; quote what has spaces");
    value
}

#[test]
fn the_settings_of_the_documentation_are_valid() {
    let documents = [
        (README, 10),
        (ACCESS, 1),
        (IDENTITY_PROVIDERS, 3),
        (MODELS, 2),
        (TOOLS, 2),
    ];
    for (document, expected) in documents {
        let mut count = 0;
        for block in shell_blocks(document) {
            let is_setting = |line: &&str| SETTINGS.iter().any(|it| line.starts_with(it));
            if !block.iter().all(is_setting) {
                continue;
            }
            count += 1;
            let settings = block.iter().map(|line| line.split_once('=').unwrap());
            let owned = settings.map(|(name, value)| (name.to_owned(), value_in_shell(value)));
            if let Err(error) = Settings::load(None, owned) {
                panic!("{}\n{error}", block.join("\n"));
            }
        }
        assert_eq!(count, expected, "blocks of settings");
    }
}
