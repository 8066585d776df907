//! Calls that fail, or have large results.

use std::time::Duration;

use ports::ToolError;
use rstest::rstest;
use serde_json::json;
use tokio::time::timeout;

use crate::fixture::{Fixture, wait_until};

async fn scripted() -> Fixture {
    Fixture::scripted("well").wait_until_connected().await
}

#[tokio::test]
async fn an_error_result_is_a_failure() {
    let result = scripted().await.call("fail", json!({})).await;
    let Err(ToolError::Failed(reason)) = result else {
        panic!("no failure: {result:?}");
    };
    assert_eq!(reason, "the disk is full");
}

#[rstest]
#[case("break", "out of order")]
#[case("deny", "the disk has no room")]
#[tokio::test]
async fn an_error_of_the_protocol_is_a_failure(#[case] tool: &str, #[case] expected: &str) {
    let result = scripted().await.call(tool, json!({})).await;
    let Err(ToolError::Failed(reason)) = result else {
        panic!("no failure: {result:?}");
    };
    assert_eq!(reason, expected);
}

#[rstest]
#[case::with_a_handshake("well")]
#[case::of_the_newest_version("newest")]
#[tokio::test]
async fn blocks_that_cannot_be_read_do_not_affect_the_others(#[case] behaviour: &str) {
    let server = Fixture::scripted(behaviour).wait_until_connected().await;
    let result = server.call("mixed", json!({})).await.expect("a result");
    let expected = [
        "one",
        "(content of a kind that is not known here)",
        "(an image, of no known type)",
        "(a resource, text/plain: repo://a)",
        "# The secret word is PLUM",
    ];
    assert_eq!(result, expected.join("\n"));
}

#[tokio::test]
async fn arguments_that_the_server_rejects_are_refused() {
    let result = scripted().await.call("refuse", json!({})).await;
    let Err(ToolError::InvalidArguments(reason)) = result else {
        panic!("not refused: {result:?}");
    };
    assert_eq!(reason, "there is no such city");
}

#[tokio::test]
async fn a_result_of_up_to_a_mebibyte_is_complete() {
    let bytes = 1024 * 1024 - 200;
    let result = scripted()
        .await
        .call("large", json!({ "bytes": bytes }))
        .await;
    assert_eq!(result.expect("a result").len(), bytes);
}

#[tokio::test]
async fn a_larger_result_fails_only_that_call() {
    let server = scripted().await;
    let large = json!({ "bytes": 8 * 1024 * 1024 });
    let (large, well) = tokio::join!(server.call("large", large), server.call("well", json!({})));
    let Err(ToolError::Unreadable(reason)) = large else {
        panic!("no failure: {large:?}");
    };
    assert_eq!(reason, "its result is too large");
    assert_eq!(well.expect("a result"), "well");
    let again = server.call("well", json!({})).await;
    assert_eq!(again.expect("a result"), "well");
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let server = scripted().await;
    let mut call = Box::pin(server.call("hang", json!({})));
    let waited = async {
        tokio::select! {
            result = &mut call => panic!("it returned: {result:?}"),
            () = wait_until("the call has started", || server.notes().contains("hangs")) => {}
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
    wait_until("the call is cancelled", || {
        server.notes().contains(&cancelled)
    })
    .await;
}

#[tokio::test]
async fn a_tool_that_hangs_blocks_no_other_call() {
    let server = scripted().await;
    let hanging = server.call("hang", json!({}));
    let others = async {
        wait_until("the call has started", || server.notes().contains("hangs")).await;
        let well = server.call("well", json!({})).await;
        assert_eq!(well.expect("a result"), "well");
    };
    tokio::select! {
        result = hanging => panic!("it returned: {result:?}"),
        () = others => {}
    }
    let again = timeout(Duration::from_millis(1), server.call("hang", json!({}))).await;
    assert!(again.is_err());
}

#[tokio::test]
async fn a_request_of_the_server_is_rejected() {
    let server = Fixture::scripted("well").wait_until_connected().await;
    let code = server.call("ask", json!({})).await.expect("a result");
    assert_eq!(code, "-32601");
}
