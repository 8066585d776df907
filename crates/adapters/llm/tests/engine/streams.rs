//! Answers that come as streams.

use std::time::Duration;

use contract::reply_engine::request;
use domain::{FinishReason, Usage};
use futures::{FutureExt as _, StreamExt as _};
use ports::{ReplyChunk, ReplyEngine as _, ReplyError};
use rstest::rstest;
use serde_json::json;

use crate::{
    given::{engine_with, given, hear, heard},
    upstream::{
        Step, Upstream, delta, done, end, event, finish, piece, saying, stream, stream_head, usage,
    },
};

#[tokio::test]
async fn says_deltas_as_they_come_and_then_how_it_ended() {
    let said = heard([stream(&[
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
        delta("Hel"),
        delta("lo"),
        delta(""),
        finish("stop"),
        usage(12, 3),
    ])])
    .await;
    assert_eq!(said.deltas(), ["Hel", "lo"]);
    let counted = Usage {
        input_tokens: 12,
        output_tokens: 3,
    };
    assert_eq!(said.end(), (FinishReason::Stop, Some(counted)));
    assert_eq!(said.chunks.len(), 3);
}

#[tokio::test]
async fn halves_of_characters_do_not_cost_the_answer() {
    let half = |escape: &str| {
        let text = delta("a")
            .to_string()
            .replace("\"a\"", &format!("\"{escape}\""));
        piece(&format!("data: {text}\n\n"))
    };
    let said = heard([vec![
        stream_head(),
        event(&delta("A fox: ")),
        half("\\ud83e"),
        half("\\udd8a!"),
        event(&finish("stop")),
        end(),
    ]])
    .await;
    assert_eq!(said.text(), "A fox: \u{fffd}\u{fffd}!");
    assert_eq!(said.end().0, FinishReason::Stop);
}

#[tokio::test]
async fn says_a_delta_while_the_next_is_still_to_come() {
    let answer = vec![
        stream_head(),
        event(&delta("first")),
        Step::Gate,
        event(&delta("second")),
        event(&finish("stop")),
        done(),
        end(),
    ];
    let (upstream, engine) = given([answer]).await;
    let mut stream = engine.reply(request(0)).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first, ReplyChunk::Delta("first".to_owned()));
    assert!(stream.next().now_or_never().is_none());
    upstream.open_gate();
    let rest: Vec<_> = stream.map(Result::unwrap).collect().await;
    assert_eq!(rest[0], ReplyChunk::Delta("second".to_owned()));
}

#[rstest]
#[case::without_done(vec![stream_head(), event(&delta("Hi")), event(&finish("length")), end()])]
#[case::without_the_last_empty_line(vec![stream_head(), event(&delta("Hi")), piece(&format!("data: {}", finish("length"))), end()])]
#[case::cut_after_the_reason(vec![stream_head(), event(&delta("Hi")), event(&finish("length")), Step::Cut])]
#[case::in_one_piece(vec![stream_head(), piece(&format!(": hello\r\n\r\ndata:{}\r\n\r\ndata:{}\r\n\r\ndata:[DONE]\r\n\r\n", delta("Hi"), finish("length"))), end()])]
#[tokio::test]
async fn an_answer_with_a_reason_for_its_end_is_whole(#[case] answer: Vec<Step>) {
    let said = heard([answer]).await;
    assert_eq!(said.text(), "Hi");
    assert_eq!(said.end(), (FinishReason::Length, None));
}

#[tokio::test]
async fn does_not_wait_long_for_what_comes_after_the_reason() {
    let answer = vec![
        stream_head(),
        event(&delta("Hi")),
        event(&finish("stop")),
        Step::Hang,
    ];
    let upstream = Upstream::answering([answer]).await;
    let engine = engine_with(&upstream, |times| times.trailer = Duration::from_millis(20));
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.end(), (FinishReason::Stop, None));
}

#[tokio::test]
async fn comments_after_the_reason_hold_nobody_up() {
    let answer = vec![
        stream_head(),
        event(&delta("Hi")),
        event(&finish("stop")),
        Step::Endlessly(b"e\r\n: keep-alive\n\n\r\n".to_vec()),
    ];
    let upstream = Upstream::answering([answer]).await;
    let engine = engine_with(&upstream, |times| times.trailer = Duration::from_millis(50));
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.text(), "Hi");
    assert_eq!(said.end(), (FinishReason::Stop, None));
    upstream.until_abandoned().await;
}

/// A piece of an answer with a reason for its end, as some servers give it with every piece.
fn ending(member: &str, text: &str) -> String {
    let choice = json!({"index": 0, "delta": {member: text}, "finish_reason": "stop"});
    format!("data: {}\n\n", json!({"choices": [choice]}))
}

#[rstest]
#[case::with_every_piece(ending("content", "H") + &ending("content", "i"))]
#[case::with_a_thought(ending("reasoning_content", "hm"))]
#[tokio::test]
async fn a_reason_that_is_none_cuts_no_answer(#[case] begin: String) {
    let said_before = if begin.contains("reasoning") {
        ""
    } else {
        "Hi"
    };
    let rest = [Step::Pause(Duration::from_millis(200))]
        .into_iter()
        .chain([piece(&ending("content", ", Ada")), done(), end()]);
    let whole: Vec<_> = [stream_head(), piece(&begin)]
        .into_iter()
        .chain(rest)
        .collect();
    let cut = vec![stream_head(), piece(&begin), Step::Cut];
    let upstream = Upstream::answering([whole, cut]).await;
    let engine = engine_with(&upstream, |times| times.trailer = Duration::from_millis(20));
    let said = hear(&engine, request(0)).await;
    assert_eq!(said.text(), format!("{said_before}, Ada"));
    assert_eq!(said.end().0, FinishReason::Stop);
    let said = hear(&engine, request(0)).await;
    assert!(
        matches!(said.error, Some(ReplyError::CutOff(_))),
        "{said:?}"
    );
}

#[rstest]
#[case("null")]
#[case("{}")]
#[case(r#"{"prompt_tokens": null, "completion_tokens": null}"#)]
#[case(r#"{"prompt_tokens": 12, "completion_tokens": -3}"#)]
#[case(r#"{"prompt_tokens": 12, "completion_tokens": 0.5}"#)]
#[case(r#"{"prompt_tokens": 1e999, "completion_tokens": 3}"#)]
#[case(r#"{"prompt_tokens": 18446744073709551615, "completion_tokens": 3}"#)]
#[case(r#""twelve""#)]
#[tokio::test]
async fn tokens_that_cannot_be_cost_no_answer(#[case] tokens: &str) {
    let counted = format!("data: {{\"choices\": [], \"usage\": {tokens}}}\n\n");
    let answer = vec![
        stream_head(),
        event(&delta("Hi")),
        event(&finish("stop")),
        piece(&counted),
        done(),
        end(),
    ];
    let said = heard([answer]).await;
    assert_eq!(said.text(), "Hi");
    assert_eq!(said.end(), (FinishReason::Stop, None));
}

#[tokio::test]
async fn reads_text_that_is_cut_anywhere() {
    let whole = format!(
        "data: {}\r\n\r\ndata: {}\n\n",
        delta("Füchse 🦊"),
        finish("stop")
    );
    let mut answer = vec![stream_head()];
    for byte in whole.into_bytes() {
        let mut chunk = b"1\r\n".to_vec();
        chunk.extend([byte, b'\r', b'\n']);
        answer.push(Step::Send(chunk));
    }
    answer.push(end());
    let said = heard([answer]).await;
    assert_eq!(said.deltas(), ["Füchse 🦊"]);
    assert_eq!(said.end().0, FinishReason::Stop);
}

#[tokio::test]
async fn answers_one_after_the_other_share_a_connection() {
    let (upstream, engine) = given([saying("Hi")]).await;
    for number in 0..10 {
        assert_eq!(hear(&engine, request(number)).await.text(), "Hi");
    }
    assert_eq!(upstream.connections(), 1);
}

#[rstest]
#[case::before_the_head(vec![Step::Hang])]
#[case::before_the_first_event(vec![stream_head(), Step::Hang])]
#[case::within_the_answer(vec![stream_head(), event(&delta("Hi")), Step::Hang])]
#[case::while_the_model_speaks(vec![stream_head(), event(&delta("Hi")), Step::Endlessly(b"3\r\n:\n\n\r\n".to_vec())])]
#[tokio::test]
async fn a_dropped_stream_closes_the_connection_at_once(#[case] answer: Vec<Step>) {
    let says_something = answer.len() > 2;
    let (upstream, engine) = given([answer]).await;
    let mut stream = engine.reply(request(0)).await.unwrap();
    if says_something {
        assert!(stream.next().await.unwrap().is_ok());
    } else {
        tokio::select! {
            part = stream.next() => panic!("{part:?}"),
            () = upstream.until_asked(1) => {}
        }
    }
    drop(stream);
    upstream.until_abandoned().await;
}
