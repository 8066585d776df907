//! Calls that end otherwise than well.

use std::time::Duration;

use ports::ToolError;
use rstest::rstest;
use serde_json::json;
use tokio::time::timeout;

use crate::ground::{Ground, eventually};

async fn scripted() -> Ground {
    Ground::scripted("well").connected().await
}

#[tokio::test]
async fn a_tool_that_says_it_failed_has_failed() {
    let answer = scripted().await.call("fail", json!({})).await;
    let Err(ToolError::Failed(reason)) = answer else {
        panic!("no failure: {answer:?}");
    };
    assert_eq!(reason, "the disk is full");
}

#[rstest]
#[case("break", "out of order")]
#[case("deny", "the disk has no room")]
#[tokio::test]
async fn an_error_of_the_protocol_is_a_failure(#[case] tool: &str, #[case] expected: &str) {
    let answer = scripted().await.call(tool, json!({})).await;
    let Err(ToolError::Failed(reason)) = answer else {
        panic!("no failure: {answer:?}");
    };
    assert_eq!(reason, expected);
}

#[tokio::test]
async fn arguments_that_the_server_refuses_are_refused() {
    let answer = scripted().await.call("refuse", json!({})).await;
    let Err(ToolError::Refused(reason)) = answer else {
        panic!("not refused: {answer:?}");
    };
    assert_eq!(reason, "there is no such city");
}

#[tokio::test]
async fn an_answer_of_up_to_a_mebibyte_is_whole() {
    let bytes = 1024 * 1024 - 200;
    let answer = scripted()
        .await
        .call("large", json!({ "bytes": bytes }))
        .await;
    assert_eq!(answer.expect("an answer").len(), bytes);
}

#[tokio::test]
async fn a_larger_answer_fails_that_call_and_no_other() {
    let server = scripted().await;
    let large = json!({ "bytes": 8 * 1024 * 1024 });
    let (large, well) = tokio::join!(server.call("large", large), server.call("well", json!({})));
    let Err(ToolError::Failed(reason)) = large else {
        panic!("no failure: {large:?}");
    };
    assert_eq!(reason, "its answer is too large");
    assert_eq!(well.expect("an answer"), "well");
    let again = server.call("well", json!({})).await;
    assert_eq!(again.expect("an answer"), "well");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_at_the_server() {
    let server = scripted().await;
    let mut call = Box::pin(server.call("hang", json!({})));
    let waited = async {
        tokio::select! {
            answer = &mut call => panic!("it answers: {answer:?}"),
            () = eventually("the server works", || server.notes().contains("hangs")) => {}
        }
    };
    waited.await;
    drop(call);
    let id = server
        .notes()
        .trim()
        .trim_start_matches("hangs ")
        .to_owned();
    let cancelled = format!("cancelled {id}");
    eventually("the server is told", || server.notes().contains(&cancelled)).await;
}

#[tokio::test]
async fn a_tool_that_hangs_holds_up_nobody_else() {
    let server = scripted().await;
    let hanging = server.call("hang", json!({}));
    let others = async {
        eventually("the server works", || server.notes().contains("hangs")).await;
        let well = server.call("well", json!({})).await;
        assert_eq!(well.expect("an answer"), "well");
    };
    tokio::select! {
        answer = hanging => panic!("it answers: {answer:?}"),
        () = others => {}
    }
    let again = timeout(Duration::from_millis(1), server.call("hang", json!({}))).await;
    assert!(again.is_err());
}

#[tokio::test]
async fn a_request_of_the_server_is_refused() {
    let server = Ground::scripted("well").connected().await;
    let code = server.call("ask", json!({})).await.expect("an answer");
    assert_eq!(code, "-32601");
}
