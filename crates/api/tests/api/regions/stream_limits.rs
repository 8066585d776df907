//! The limit on open streams, which each region counts for itself.

use domain::ProblemCode;
use serde_json::json;

use super::fixture::Regions;
use crate::{api_server::id_of, sse_client::EventStream};

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_streams_are_counted_in_the_region_of_their_client() {
    let mut regions = Regions::start_both(
        |home| home.setting("LIMITS__STREAMS", "1"),
        |far| far.setting("LIMITS__STREAMS", "2"),
    )
    .await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&regions.home.agent(draft).await);
    let chat = json!({"agentId": agent, "message": "Hello", "stream": true});
    let open = |api: &crate::api_server::ApiServer| {
        EventStream::open(api.writer().request("POST", "/api/chat").json(&chat))
    };
    let (mut streams, mut calls) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        streams.push(open(&regions.far).await);
        calls.push(regions.script.next_call().await);
    }
    let third = regions.far.writer().post("/api/chat", chat.clone()).await;
    let problem = third.problem(ProblemCode::TooManyStreams);
    assert_eq!(problem["violatedPolicies"], json!(["streams"]), "{problem}");
    regions.script.assert_no_more_calls();
    // A whole reply is not counted as a stream.
    let whole = json!({"agentId": agent, "message": "Hello"});
    let whole = regions
        .far
        .writer()
        .request("POST", "/api/chat")
        .json(&whole);
    let whole = whole.begin();
    regions.script.next_call().await.answer("yes.").await;
    whole.await.expect("a response").ok();

    // The home region counts only its own.
    let _own = open(&regions.home).await;
    let call = regions.script.next_call().await;
    let second = regions.home.writer().post("/api/chat", chat.clone()).await;
    second.problem(ProblemCode::TooManyStreams);
    call.answer("yes.").await;

    streams.clear();
    for call in calls {
        call.answer("yes.").await;
    }
    loop {
        let again = regions
            .far
            .writer()
            .request("POST", "/api/chat")
            .json(&chat);
        let again = again.open().await;
        if again.status() == 200 {
            break;
        }
        assert_eq!(again.status(), 429);
    }
}
