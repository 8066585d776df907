//! Questions that are put again.

use std::time::Duration;

use contract::reply_engine::request;
use ports::ReplyError;
use rstest::rstest;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    given::{given, hear, request_within},
    upstream::{
        Answer, Step, calling, delta, event, piece, saying, status, stream, stream_head, whole,
    },
};

fn busy(headers: &str) -> Answer {
    whole(
        429,
        headers,
        &json!({"error": {"code": "rate_limit_exceeded"}}),
    )
}

#[rstest]
#[case::an_error_of_the_server(status(500))]
#[case::no_gateway(status(502))]
#[case::overloaded(status(529))]
#[case::too_many_questions(busy(""))]
#[case::no_head(vec![Step::Cut])]
#[case::no_more_than_a_head(vec![stream_head(), Step::Cut])]
#[case::no_more_than_a_comment(vec![stream_head(), piece(": wait\n\n"), Step::Cut])]
#[case::no_more_than_nothing(vec![stream_head(), event(&delta("")), Step::Cut])]
#[case::an_error_in_a_stream(stream(&[json!({"error": {"code": 503}})]))]
#[tokio::test]
async fn a_question_without_a_delta_is_put_again(#[case] failure: Answer) {
    let (upstream, engine) = given([failure.clone(), failure, saying("Hi")]).await;
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.text(), "Hi");
    let bodies = upstream.bodies();
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[rstest]
#[case::an_error_of_the_server(status(503), "the engine is unavailable: the upstream answered 503")]
#[case::too_many_questions(busy(""), "the engine is rate limited")]
#[tokio::test]
async fn a_question_is_put_three_times_at_most(#[case] failure: Answer, #[case] expected: &str) {
    let (upstream, engine) = given([failure]).await;
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.failure(), expected);
    assert_eq!(upstream.asked().len(), 3);
}

#[tokio::test]
async fn an_answer_that_is_always_cut_before_its_first_word_is_cut_off() {
    let (upstream, engine) = given([vec![stream_head(), Step::Cut]]).await;
    let said = hear(&engine, request(0)).await;
    assert!(matches!(said.error, Some(ReplyError::CutOff(_))));
    assert_eq!(upstream.asked().len(), 3);
}

#[tokio::test]
async fn a_server_that_names_a_time_is_left_alone_for_so_long() {
    let (upstream, engine) = given([busy("retry-after: 1\r\n"), saying("Hi")]).await;
    let began = Instant::now();
    assert_eq!(hear(&engine, request(0)).await.text(), "Hi");
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(upstream.asked().len(), 2);
}

#[tokio::test]
async fn a_time_beyond_the_agents_own_ends_at_once() {
    let (upstream, engine) = given([busy("retry-after: 30\r\n")]).await;
    let said = hear(&engine, request_within(Duration::from_secs(20))).await;
    let told = Duration::from_secs(30);
    assert!(
        matches!(said.error, Some(ReplyError::RateLimited { retry_after: Some(after) }) if after == told),
        "{said:?}"
    );
    assert_eq!(upstream.asked().len(), 1);
}

#[tokio::test]
async fn a_question_after_a_tool_is_put_again_without_calling_it_again() {
    let answers = [
        calling(&[("a", "nothing", "{}")]),
        status(503),
        saying("There is no such tool."),
    ];
    let (upstream, engine) = given(answers).await;
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.text(), "There is no such tool.");
    assert_eq!(said.chunks.len(), 4, "{said:?}");
    let bodies = upstream.bodies();
    assert_eq!(bodies[1], bodies[2]);
}

#[tokio::test]
async fn questions_of_one_answer_share_their_repeats() {
    let answers = [
        status(503),
        status(503),
        calling(&[("a", "nothing", "{}")]),
        status(503),
        saying("too late"),
    ];
    let (upstream, engine) = given(answers).await;
    let said = hear(&engine, request(0)).await;
    assert!(matches!(said.error, Some(ReplyError::Unavailable(_))));
    assert_eq!(upstream.asked().len(), 4);
}

/// Servers close connections that rest, at any moment.
#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_costs_nothing() {
    let answer = [saying("Hi"), vec![Step::Cut]].concat();
    let (_upstream, engine) = given([answer]).await;
    for number in 0..50 {
        let said = hear(&engine, request(number)).await;
        assert_eq!(said.text(), "Hi", "{said:?}");
    }
}
