//! Servers that do not answer, or answer what they may not.

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
    given::{engine_with, given, hear, heard, options},
    upstream::{
        Answer, Step, Upstream, delta, done, end, event, finish, head, piece, saying, status,
        stream, stream_head, whole,
    },
};

const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let gone = Upstream::answering([saying("Hi")]).await.base_url();
    let engine = llm_engine::LlmReplyEngine::new(options(gone)).unwrap();
    let said = hear(&engine, request(0)).await;
    assert!(matches!(said.error, Some(ReplyError::Unavailable(_))));
    let failure = said.failure();
    assert!(
        failure.starts_with("the engine is unavailable: the upstream cannot be reached: "),
        "{failure}"
    );
    assert!(!failure.contains("127.0.0.1"), "{failure}");
}

/// A server that takes no connection any more: its queue is full, and further ones get no answer.
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
async fn a_server_that_takes_no_connection_is_unavailable() {
    let (address, _listener, _waiting) = full().await;
    let mut options = options(format!("http://{address}/v1"));
    options.times.connect = SHORT;
    let engine = llm_engine::LlmReplyEngine::new(options).unwrap();
    let began = Instant::now();
    let said = hear(&engine, request(0)).await;
    assert!(
        matches!(said.error, Some(ReplyError::Unavailable(_))),
        "{said:?}"
    );
    assert!(began.elapsed() >= 3 * SHORT, "it is tried three times");
}

#[rstest]
#[case::before_the_head(vec![Step::Hang])]
#[case::before_the_first_line(vec![stream_head(), Step::Hang])]
#[case::within_the_first_line(vec![stream_head(), piece("data: "), Step::Hang])]
#[case::before_a_whole_answer(vec![head("application/json"), Step::Hang])]
#[tokio::test]
async fn a_server_that_hangs_takes_too_long(#[case] answer: Answer) {
    let upstream = Upstream::answering([answer]).await;
    let engine = engine_with(&upstream, |times| times.first_byte = SHORT);
    let said = hear(&engine, request(0)).await;
    assert!(matches!(said.error, Some(ReplyError::TimedOut)), "{said:?}");
    assert_eq!(upstream.asked().len(), 1, "time is not asked for again");
}

#[rstest]
#[case::in_a_stream(vec![stream_head(), event(&delta("Hi")), Step::Hang], "Hi")]
#[case::in_a_whole_answer(vec![head("application/json"), piece("{"), Step::Hang], "")]
#[tokio::test]
async fn a_server_that_falls_silent_takes_too_long(#[case] answer: Answer, #[case] text: &str) {
    let upstream = Upstream::answering([answer]).await;
    let engine = engine_with(&upstream, |times| times.idle = SHORT);
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.text(), text);
    assert!(matches!(said.error, Some(ReplyError::TimedOut)), "{said:?}");
}

/// A byte every 5 ms never lets 50 ms pass in silence, and yet says nothing.
#[tokio::test]
async fn bytes_that_make_no_line_do_not_count_as_speaking() {
    let mut answer = vec![stream_head(), event(&delta("Hi"))];
    for _ in 0..1000 {
        answer.extend([Step::Pause(Duration::from_millis(5)), piece("d")]);
    }
    let upstream = Upstream::answering([answer]).await;
    let engine = engine_with(&upstream, |times| times.idle = SHORT);
    let began = Instant::now();
    let said = hear(&engine, request(0)).await;
    assert!(matches!(said.error, Some(ReplyError::TimedOut)), "{said:?}");
    assert!(began.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn comments_keep_an_answer_alive() {
    let mut answer = vec![stream_head()];
    for _ in 0..20 {
        answer.extend([Step::Pause(Duration::from_millis(50)), piece(": wait\n\n")]);
    }
    answer.extend([event(&delta("Hi")), event(&finish("stop")), done(), end()]);
    let upstream = Upstream::answering([answer]).await;
    let engine = engine_with(&upstream, |times| {
        times.first_byte = Duration::from_millis(800);
        times.idle = Duration::from_millis(800);
    });
    assert_eq!(hear(&engine, request(0)).await.text(), "Hi");
}

#[rstest]
#[case::malformed_json(vec![stream_head(), event(&delta("Hi")), piece("data: {\"choices\n\n"), end()])]
#[case::json_of_another_kind(vec![stream_head(), event(&delta("Hi")), event(&json!("text")), end()])]
#[case::a_member_of_another_type(vec![stream_head(), event(&delta("Hi")), event(&json!({"choices": [{"delta": {"content": 5}}]})), end()])]
#[case::no_text_at_all(vec![stream_head(), event(&delta("Hi")), Step::Send(b"8\r\ndata: \xff\n\r\n2\r\n\n\n\r\n".to_vec()), end()])]
#[tokio::test]
async fn a_malformed_answer_fails_and_is_not_requested_again(#[case] answer: Answer) {
    let (upstream, engine) = given([answer]).await;
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.text(), "Hi");
    assert!(
        matches!(said.error, Some(ReplyError::BadAnswer(_))),
        "{said:?}"
    );
    assert_eq!(upstream.asked().len(), 1);
}

#[rstest]
#[case::no_reason_for_its_end(vec![stream_head(), event(&delta("Hi")), done(), end()])]
#[case::no_end_but_of_the_connection(vec![stream_head(), event(&delta("Hi")), end()])]
#[case::cut(vec![stream_head(), event(&delta("Hi")), Step::Cut])]
#[case::cut_within_an_event(vec![stream_head(), event(&delta("Hi")), piece("data: {\"cho"), Step::Cut])]
#[tokio::test]
async fn an_answer_that_is_cut_off_is_retryable_and_not_requested_again(#[case] answer: Answer) {
    let (upstream, engine) = given([answer]).await;
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.text(), "Hi");
    let error = said.error.expect("an error");
    assert!(matches!(error, ReplyError::CutOff(_)), "{error:?}");
    assert!(error.is_retryable());
    assert_eq!(upstream.asked().len(), 1);
}

#[rstest]
#[case::one_event(vec![stream_head(), piece("data: "), Step::Endlessly(filling("a"))])]
#[case::one_comment(vec![stream_head(), piece(": "), Step::Endlessly(filling("a"))])]
#[case::lines_of_data(vec![stream_head(), Step::Endlessly(filling("data: a\n"))])]
#[case::text(vec![stream_head(), Step::Endlessly(filling(&format!("data: {}\n\n", delta("a lot of text"))))])]
#[case::a_whole_answer(vec![head("application/json"), Step::Endlessly(filling(" "))])]
#[tokio::test]
async fn an_endless_answer_is_bad(#[case] answer: Answer) {
    let (upstream, engine) = given([answer]).await;
    let said = hear(&engine, request(0)).await;
    assert!(
        matches!(said.error, Some(ReplyError::BadAnswer(_))),
        "{:?}",
        said.error
    );
    assert!(said.text().len() <= 1024 * 1024);
    upstream.until_abandoned().await;
}

/// A piece of some KiB that consists of this.
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
async fn a_refusal_is_not_asked_for_again(#[case] number: u16) {
    let location = "location: http://127.0.0.1:1/\r\n";
    let (upstream, engine) = given([whole(number, location, &json!({}))]).await;
    let said = hear(&engine, request(0)).await;
    assert!(
        matches!(said.error, Some(ReplyError::Refused(_))),
        "{said:?}"
    );
    assert_eq!(
        said.failure(),
        format!("the engine refused: the upstream answered {number}")
    );
    assert_eq!(upstream.asked().len(), 1);
}

#[tokio::test]
async fn a_server_that_ran_out_of_time_took_too_long() {
    let said = heard([status(408)]).await;
    assert!(matches!(said.error, Some(ReplyError::TimedOut)));
}

#[rstest]
#[case("text/html")]
#[case("text/plain")]
#[case("application/problem+json")]
#[case("")]
#[tokio::test]
async fn an_answer_of_another_type_is_bad(#[case] media_type: &str) {
    let answer = vec![head(media_type), piece("{}"), end()];
    let said = heard([answer]).await;
    assert!(
        matches!(said.error, Some(ReplyError::BadAnswer(_))),
        "{said:?}"
    );
}

#[rstest]
#[case(json!({"code": "context_length_exceeded", "type": "invalid_request_error"}), "refused", 1)]
#[case(json!({"code": 400}), "refused", 1)]
#[case(json!({"type": "overloaded_error"}), "unavailable", 3)]
#[case(json!("out of memory"), "unavailable", 3)]
#[case(json!({"code": 429}), "rate limited", 3)]
#[tokio::test]
async fn an_error_within_a_stream_is_the_same_as_before_it(
    #[case] error: Value,
    #[case] expected: &str,
    #[case] times: usize,
) {
    let (upstream, engine) = given([stream(&[json!({"error": error})])]).await;
    let said = hear(&engine, request(0)).await;
    let failure = said.failure();
    assert!(failure.contains(expected), "{failure}");
    assert_eq!(upstream.asked().len(), times);
}

#[tokio::test]
async fn an_error_after_the_first_delta_fails_what_was_begun() {
    let error = json!({"error": {"message": "overloaded", "code": 502}});
    let (upstream, engine) = given([stream(&[delta("Hi"), error])]).await;
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.text(), "Hi");
    assert!(matches!(said.error, Some(ReplyError::Unavailable(_))));
    assert_eq!(upstream.asked().len(), 1);
}
