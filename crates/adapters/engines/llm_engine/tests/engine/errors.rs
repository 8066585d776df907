//! Servers that do not respond, or violate the protocol.

use std::{net::SocketAddr, time::Duration};

use contract::reply_engine::request;
use ports::ReplyError;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    time::{Instant, timeout},
};

use crate::{
    fixture::{collect_reply, engine_with, fixture, options, reply_to},
    upstream::{
        Response, Step, Upstream, delta, done, end, event, finish, head, piece, status, stream,
        stream_head, text_stream, whole,
    },
};

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_stopped_server_is_unavailable() {
    let wait_for_close = Upstream::start([text_stream("Hi")]).await.base_url();
    let engine = llm_engine::LlmReplyEngine::new(options(wait_for_close)).unwrap();
    let reply = collect_reply(&engine, request(0)).await;
    assert!(matches!(reply.error, Some(ReplyError::Unavailable(_))));
    let failure = reply.failure();
    assert!(
        failure
            .starts_with("the engine is unavailable: the upstream cannot be reached: 127.0.0.1:"),
        "{failure}"
    );
    assert!(!failure.contains("http://"), "{failure}");
}

/// A server that accepts no more connections: its queue is full, and further attempts time out.
async fn full() -> (SocketAddr, TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(any).expect("a port");
    let listener = socket.listen(1).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let mut waiting = Vec::new();
    while let Ok(connected) = timeout(6 * SHORT, TcpStream::connect(address)).await {
        waiting.push(connected.expect("a connection"));
    }
    (address, listener, waiting)
}

#[tokio::test]
async fn a_server_that_accepts_no_connection_is_unavailable() {
    let (address, _listener, _waiting) = full().await;
    let mut options = options(format!("http://{address}/v1"));
    options.timeouts.connect = SHORT;
    let engine = llm_engine::LlmReplyEngine::new(options).unwrap();
    let began = Instant::now();
    let reply = collect_reply(&engine, request(0)).await;
    assert!(
        matches!(reply.error, Some(ReplyError::Unavailable(_))),
        "{reply:?}"
    );
    assert!(began.elapsed() >= 3 * SHORT, "it is tried three times");
}

#[rstest]
#[case::before_the_head(vec![Step::Hang])]
#[case::before_the_first_line(vec![stream_head(), Step::Hang])]
#[case::within_the_first_line(vec![stream_head(), piece("data: "), Step::Hang])]
#[case::before_an_unstreamed_body(vec![head("application/json"), Step::Hang])]
#[tokio::test]
async fn a_server_that_hangs_times_out(#[case] response: Response) {
    let upstream = Upstream::start([response]).await;
    let engine = engine_with(&upstream, |timeouts| timeouts.first_byte = SHORT);
    let reply = collect_reply(&engine, request(0)).await;
    assert!(
        matches!(reply.error, Some(ReplyError::TimedOut)),
        "{reply:?}"
    );
    assert_eq!(upstream.requests().len(), 1, "a timeout is not retried");
}

#[rstest]
#[case::in_a_stream(vec![stream_head(), event(&delta("Hi")), Step::Hang], "Hi")]
#[case::in_an_unstreamed_body(vec![head("application/json"), piece("{"), Step::Hang], "")]
#[tokio::test]
async fn a_server_that_stops_sending_times_out(#[case] response: Response, #[case] text: &str) {
    let upstream = Upstream::start([response]).await;
    let engine = engine_with(&upstream, |timeouts| timeouts.idle = SHORT);
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), text);
    assert!(
        matches!(reply.error, Some(ReplyError::TimedOut)),
        "{reply:?}"
    );
}

/// A byte every 5 ms is never 50 ms apart from the next, and yet completes no line.
#[tokio::test]
async fn an_incomplete_line_does_not_extend_the_timeout() {
    let mut response = vec![stream_head(), event(&delta("Hi"))];
    for _ in 0..1000 {
        response.extend([Step::Pause(Duration::from_millis(5)), piece("d")]);
    }
    let upstream = Upstream::start([response]).await;
    let engine = engine_with(&upstream, |timeouts| timeouts.idle = SHORT);
    let began = Instant::now();
    let reply = collect_reply(&engine, request(0)).await;
    assert!(
        matches!(reply.error, Some(ReplyError::TimedOut)),
        "{reply:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn comments_extend_the_timeout() {
    let mut response = vec![stream_head()];
    for _ in 0..20 {
        response.extend([Step::Pause(Duration::from_millis(50)), piece(": wait\n\n")]);
    }
    response.extend([event(&delta("Hi")), event(&finish("stop")), done(), end()]);
    let upstream = Upstream::start([response]).await;
    let engine = engine_with(&upstream, |timeouts| {
        timeouts.first_byte = Duration::from_millis(800);
        timeouts.idle = Duration::from_millis(800);
    });
    assert_eq!(collect_reply(&engine, request(0)).await.text(), "Hi");
}

#[rstest]
#[case::malformed_json(vec![stream_head(), event(&delta("Hi")), piece("data: {\"choices\n\n"), end()])]
#[case::json_of_another_type(vec![stream_head(), event(&delta("Hi")), event(&json!("text")), end()])]
#[case::a_member_of_another_type(vec![stream_head(), event(&delta("Hi")), event(&json!({"choices": [{"delta": {"content": 5}}]})), end()])]
#[case::invalid_utf_8(vec![stream_head(), event(&delta("Hi")), Step::Send(b"8\r\ndata: \xff\n\r\n2\r\n\n\n\r\n".to_vec()), end()])]
#[tokio::test]
async fn a_malformed_response_fails_and_is_not_retried(#[case] response: Response) {
    let (upstream, engine) = fixture([response]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), "Hi");
    assert!(
        matches!(reply.error, Some(ReplyError::InvalidReply(_))),
        "{reply:?}"
    );
    assert_eq!(upstream.requests().len(), 1);
}

#[rstest]
#[case::no_finish_reason(vec![stream_head(), event(&delta("Hi")), done(), end()])]
#[case::no_end_of_stream(vec![stream_head(), event(&delta("Hi")), end()])]
#[case::cut(vec![stream_head(), event(&delta("Hi")), Step::Cut])]
#[case::cut_within_an_event(vec![stream_head(), event(&delta("Hi")), piece("data: {\"cho"), Step::Cut])]
#[tokio::test]
async fn an_interrupted_response_is_retryable_and_not_retried_here(#[case] response: Response) {
    let (upstream, engine) = fixture([response]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), "Hi");
    let error = reply.error.expect("an error");
    assert!(matches!(error, ReplyError::CutOff(_)), "{error:?}");
    assert!(error.is_retryable());
    assert_eq!(upstream.requests().len(), 1);
}

#[rstest]
#[case::one_event(vec![stream_head(), piece("data: "), Step::Repeat(filling("a"))])]
#[case::one_comment(vec![stream_head(), piece(": "), Step::Repeat(filling("a"))])]
#[case::lines_of_data(vec![stream_head(), Step::Repeat(filling("data: a\n"))])]
#[case::text(vec![stream_head(), Step::Repeat(filling(&format!("data: {}\n\n", delta("a lot of text"))))])]
#[case::an_unstreamed_body(vec![head("application/json"), Step::Repeat(filling(" "))])]
#[tokio::test]
async fn an_endless_response_is_rejected(#[case] response: Response) {
    let (upstream, engine) = fixture([response]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert!(
        matches!(reply.error, Some(ReplyError::InvalidReply(_))),
        "{:?}",
        reply.error
    );
    let is_ignored = reply
        .error
        .as_ref()
        .is_some_and(ReplyError::is_unusable_reply);
    assert!(!is_ignored, "the circuit breaker counts it");
    assert!(reply.text().len() <= 1024 * 1024);
    upstream.wait_until_abandoned().await;
}

/// A chunk of several KiB that repeats this text.
fn filling(text: &str) -> Vec<u8> {
    let Step::Send(bytes) = piece(&text.repeat(16 * 1024 / text.len())) else {
        unreachable!("a piece is sent")
    };
    bytes
}

#[rstest]
#[case(400)]
#[case(401)]
#[case(403)]
#[case(404)]
#[case(413)]
#[case(422)]
#[case(301)]
#[case(307)]
#[tokio::test]
async fn a_rejected_request_is_not_repeated(#[case] number: u16) {
    let location = "location: http://127.0.0.1:1/\r\n";
    let (upstream, engine) = fixture([whole(number, location, &json!({}))]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert!(
        matches!(reply.error, Some(ReplyError::Rejected(_))),
        "{reply:?}"
    );
    assert_eq!(
        reply.failure(),
        format!("the engine rejected the request: the upstream returned {number}")
    );
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn status_408_is_a_timeout() {
    let reply = reply_to([status(408)]).await;
    assert!(matches!(reply.error, Some(ReplyError::TimedOut)));
}

#[rstest]
#[case("text/html", "<!doctype html><title>Sign in</title>")]
#[case("text/plain", "upstream connect error")]
#[case("text/plain", "dat")]
#[case("", "{}")]
#[tokio::test]
async fn a_response_in_neither_form_is_rejected(#[case] media_type: &str, #[case] body: &str) {
    let response = vec![head(media_type), piece(body), end()];
    let reply = reply_to([response]).await;
    assert!(
        matches!(reply.error, Some(ReplyError::InvalidReply(_))),
        "{reply:?}"
    );
}

#[rstest]
#[case(json!({"code": "context_length_exceeded", "type": "invalid_request_error"}), "rejected", 1)]
#[case(json!({"code": 400}), "rejected", 1)]
#[case(json!({"type": "overloaded_error"}), "unavailable", 3)]
#[case(json!("out of memory"), "unavailable", 3)]
#[case(json!({"code": 429}), "rate limited", 3)]
#[tokio::test]
async fn an_error_in_a_stream_is_treated_like_an_error_response(
    #[case] error: Value,
    #[case] expected: &str,
    #[case] times: usize,
) {
    let (upstream, engine) = fixture([stream(&[json!({"error": error})])]).await;
    let reply = collect_reply(&engine, request(0)).await;
    let failure = reply.failure();
    assert!(failure.contains(expected), "{failure}");
    assert_eq!(upstream.requests().len(), times);
}

#[rstest]
#[case::in_an_event_of_its_own(|text, error| stream(&[text, error]))]
#[case::together_with_the_text(|text, error| {
    let events = format!("data: {text}\n\ndata: {error}\n\n");
    [stream_head(), piece(&events), end()].into_iter().collect()
})]
#[tokio::test]
async fn an_error_after_the_first_delta_fails_the_reply(
    #[case] respond: fn(Value, Value) -> Response,
) {
    let error = json!({"error": {"message": "overloaded", "code": 502}});
    let (upstream, engine) = fixture([respond(delta("Hi"), error)]).await;
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), "Hi");
    assert!(matches!(reply.error, Some(ReplyError::Unavailable(_))));
    assert_eq!(upstream.requests().len(), 1);
}
