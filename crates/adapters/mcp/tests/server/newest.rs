//! Servers that speak only the version of the protocol without a handshake.

use ports::ToolProvider as _;
use serde_json::json;

use crate::ground::Ground;

#[tokio::test]
async fn are_spoken_to_in_their_way() {
    let server = Ground::scripted("newest").connected().await;
    let answer = server.call("well", json!({})).await;
    assert_eq!(answer.expect("an answer"), "well");
    assert_eq!(
        server.capabilities()[0].description,
        "All tools of Scripted tools"
    );
}

#[tokio::test]
async fn tell_of_changes_to_who_asks_for_it() {
    let server = Ground::scripted("newest").connected().await;
    server.call("add_tool", json!({})).await.expect("an answer");
    server
        .until("the new tool is offered", |server| {
            server
                .tools()
                .iter()
                .any(|tool| tool.name == "scripted/added")
        })
        .await;
}

#[tokio::test]
async fn that_do_not_answer_who_asks_for_it_still_tell_of_their_end() {
    let server = Ground::scripted("deaf").connected().await;
    let gone = server.call("exit", json!({})).await;
    assert!(gone.is_err(), "{gone:?}");
    assert_eq!(server.answers_again("well").await, "well");
}
