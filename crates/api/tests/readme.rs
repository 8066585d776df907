//! The engine that the README shows: it is the example that is compiled, and it keeps its port's
//! promises.

use futures::StreamExt as _;
use ports::{ReplyChunk, ReplyEngine as _};
use shout_engine::ShoutEngine;

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
    let readme = include_str!("../../../README.md");
    let example = include_str!("../examples/shout_engine.rs");
    assert!(
        readme.contains(&format!("```rust\n{example}```\n")),
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
    let readme = include_str!("../../../README.md");
    let missing: Vec<_> = api::settings::keys()
        .into_iter()
        .map(|key| key.variable)
        .filter(|variable| !readme.contains(&format!("`{variable}`")))
        .collect();
    assert!(missing.is_empty(), "README.md lacks {missing:?}");
}
