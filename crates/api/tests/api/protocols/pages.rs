//! Pages with the UI libraries of other products in Chromium, unmodified, on another origin than the
//! service: send, tools, stop, reload, network cut, photos, regenerate, edit, and, over reloads and restarts,
//! approvals and tools of the page. With the environment variable `SCREENSHOTS`, they save screenshots in
//! that folder.

mod heavy;

use serde_json::json;

use super::preflights::{self, Client};
use crate::child_program::run_with_binary;

/// The program fails unless all cases pass; this checks that they ran, and what the page needed.
async fn assert_works(client: &Client, script: &str, arguments: &[&str], cases: u64) {
    let result = run_with_binary(script, arguments).await;
    let passed = (&result["passed"], &result["of"]);
    assert_eq!(passed, (&json!(cases), &json!(cases)), "{result}");
    client.assert_needs(&result);
}

#[tokio::test(flavor = "multi_thread")]
async fn use_chat_of_version_6_works() {
    assert_works(&preflights::USE_CHAT, "ai_sdk/pages.mjs", &["6"], 9).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn use_chat_of_version_7_works() {
    assert_works(&preflights::USE_CHAT, "ai_sdk/pages.mjs", &["7"], 9).await;
}

/// Checks a page of an agent that acts.
async fn assert_acts(script: &str, argument: &str) {
    assert_works(&preflights::USE_CHAT_ACTING, script, &[argument], 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn use_chat_of_version_6_answers_calls() {
    assert_acts("ai_sdk/acting.mjs", "6").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn use_chat_of_version_7_answers_calls() {
    assert_acts("ai_sdk/acting.mjs", "7").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn assistant_ui_answers_calls() {
    assert_acts("ai_sdk/assistant_ui_acting.mjs", "agent").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn assistant_ui_answers_calls_of_tools_that_it_offers() {
    assert_acts("ai_sdk/assistant_ui_acting.mjs", "offers").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn use_chat_runtime_of_assistant_ui_works() {
    assert_works(
        &preflights::USE_CHAT_RUNTIME,
        "ai_sdk/assistant_ui.mjs",
        &["new"],
        5,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn assistant_ui_continues_a_stored_chat() {
    assert_works(
        &preflights::USE_CHAT,
        "ai_sdk/assistant_ui.mjs",
        &["stored"],
        7,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tanstack_ai_works() {
    assert_works(&preflights::TANSTACK_AI, "ag_ui/tanstack_page.mjs", &[], 6).await;
}
