//! Retries of requests.

use std::time::Duration;

use contract::reply_engine::request;
use ports::ReplyError;
use rstest::rstest;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    fixture::{collect_reply, fixture, request_within},
    tools::after,
    upstream::{
        Response, Step, call_stream, delta, event, piece, status, stream, stream_head, text_stream,
        whole,
    },
};

fn busy(headers: &str) -> Response {
    whole(
        429,
        headers,
        &json!({"error": {"code": "rate_limit_exceeded"}}),
    )
}

#[rstest]
#[case::an_error_of_the_server(status(500))]
#[case::bad_gateway(status(502))]
#[case::overloaded(status(529))]
#[case::too_many_requests(busy(""))]
#[case::no_response(vec![Step::Cut])]
#[case::only_a_head(vec![stream_head(), Step::Cut])]
#[case::only_a_comment(vec![stream_head(), piece(": wait\n\n"), Step::Cut])]
#[case::only_an_empty_delta(vec![stream_head(), event(&delta("")), Step::Cut])]
#[case::an_error_in_a_stream(stream(&[json!({"error": {"code": 503}})]))]
#[tokio::test]
async fn a_request_without_output_is_retried(#[case] failure: Response) {
    let (upstream, engine) = fixture([failure.clone(), failure, text_stream("Hi")]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), "Hi");
    let bodies = upstream.bodies();
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[rstest]
#[case::an_error_of_the_server(status(503), "the engine is unavailable: the upstream returned 503")]
#[case::too_many_requests(busy(""), "the engine is rate limited")]
#[tokio::test]
async fn a_request_is_sent_three_times_at_most(#[case] failure: Response, #[case] expected: &str) {
    let (upstream, engine) = fixture([failure]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.failure(), expected);
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn a_response_that_is_always_interrupted_before_its_first_word_is_cut_off() {
    let (upstream, engine) = fixture([vec![stream_head(), Step::Cut]]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert!(matches!(reply.error, Some(ReplyError::CutOff(_))));
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn retry_after_is_respected() {
    let (upstream, engine) = fixture([busy("retry-after: 1\r\n"), text_stream("Hi")]).await;
    let began = Instant::now();
    assert_eq!(collect_reply(&engine, request(0)).await.text(), "Hi");
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn retry_after_beyond_the_agents_timeout_fails_at_once() {
    let (upstream, engine) = fixture([busy("retry-after: 30\r\n")]).await;
    let reply = collect_reply(&engine, request_within(Duration::from_secs(20))).await;
    let requested = Duration::from_secs(30);
    assert!(
        matches!(reply.error, Some(ReplyError::RateLimited { retry_after: Some(after) }) if after == requested),
        "{reply:?}"
    );
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn each_request_of_a_turn_has_its_own_retries() {
    let responses = [
        status(503),
        status(503),
        call_stream(&[("a", "nothing", "{}")]),
        status(503),
        status(503),
        text_stream("There is no such tool."),
    ];
    let (upstream, engine) = fixture(responses).await;
    let reply = collect_reply(&engine, request(0)).await;
    let reply = collect_reply(&engine, after(request(0), &reply)).await;
    assert_eq!(reply.text(), "There is no such tool.");
    let bodies = upstream.bodies();
    assert_eq!(bodies[3..], vec![bodies[3].clone(); 3]);
}

/// Servers close idle connections at any moment.
#[tokio::test]
async fn a_closed_idle_connection_is_replaced() {
    let response = [text_stream("Hi"), vec![Step::Cut]].concat();
    let (_upstream, engine) = fixture([response]).await;
    for number in 0..50 {
        let reply = collect_reply(&engine, request(number)).await;
        assert_eq!(reply.text(), "Hi", "{reply:?}");
    }
}
