//! Streamed responses.

use std::{sync::Arc, time::Duration};

use contract::reply_engine::request;
use domain::{FinishReason, Usage};
use futures::{FutureExt as _, StreamExt as _, future::join_all};
use llm_engine::{LlmOptions, LlmReplyEngine};
use ports::{ModelChunk, ReplyEngine as _, ReplyError};
use rstest::rstest;
use serde_json::json;
use tokio::runtime::Builder;

use crate::{
    fixture::{collect_reply, engine_with, fixture, options, reply_to},
    upstream::{
        Response, Step, Upstream, delta, done, end, event, finish, head, piece, stream,
        stream_head, text_stream, usage,
    },
};

#[tokio::test]
async fn deltas_are_followed_by_the_end() {
    let reply = reply_to([stream(&[
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
        delta("Hel"),
        delta("lo"),
        delta(""),
        finish("stop"),
        usage(12, 3),
    ])])
    .await;
    assert_eq!(reply.text(), "Hello");
    let counted = Usage {
        input_tokens: 12,
        output_tokens: 3,
        ..Usage::default()
    };
    assert_eq!(reply.end(), (FinishReason::Stop, Some(counted)));
}

#[rstest]
#[case::in_all_chunks(json!("gpt-1"), json!("gpt-1"), Some("gpt-1"))]
#[case::of_a_proxy_that_names_it_late(json!(""), json!("gpt-1"), Some("gpt-1"))]
#[case::the_first_of_two(json!("gpt-1"), json!("gpt-2"), Some("gpt-1"))]
#[case::with_escapes(json!("gpt \"1\" \u{e9}"), json!(null), Some("gpt \"1\" \u{e9}"))]
#[case::no_text(json!(7), json!({"name": "gpt-1"}), None)]
#[tokio::test]
async fn the_model_is_the_first_that_a_chunk_names(
    #[case] first: serde_json::Value,
    #[case] later: serde_json::Value,
    #[case] expected: Option<&str>,
) {
    let chunk = |model: &serde_json::Value, mut chunk: serde_json::Value| {
        chunk["model"] = model.clone();
        chunk
    };
    let reply = reply_to([stream(&[
        chunk(&first, delta("Hel")),
        chunk(&first, delta("l")),
        chunk(&later, delta("o")),
        chunk(&later, finish("stop")),
    ])])
    .await;
    assert_eq!(reply.text(), "Hello");
    assert_eq!(reply.model(), expected);
}

/// The labels that servers and proxies give to correct streams and documents.
const LABELS: &[&str] = &[
    "text/event-stream",
    "text/plain; charset=utf-8",
    "application/octet-stream",
    "application/x-ndjson",
    "application/json",
    "",
];

#[rstest]
#[case::events(&["data: {}\n\n"])]
#[case::after_a_comment(&[": wait\n\n", "data: {}\n\n"])]
#[case::after_other_fields(&["event: chunk\nid: 1\nretry: 1\ndata: {}\n\n"])]
#[case::after_a_mark_and_empty_lines(&["\u{feff}\r\n", "\n", "data:{}\n\n"])]
#[case::in_small_pieces(&["d", "at", "a: {", "}\n\n"])]
#[case::one_document(&["{}"])]
#[case::a_document_after_white_space(&["\n ", " ", "{}\n"])]
#[tokio::test]
async fn the_first_bytes_and_not_the_label_tell_the_form(#[case] pieces: &[&str]) {
    let whole = json!({"choices": [{
        "index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"
    }]});
    for label in LABELS {
        // The braces are replaced in the piece that opens them, and dropped in the one that closes.
        let fill = |text: &&str| match text.split_once('{') {
            Some((before, after)) => {
                format!("{before}{whole}{}", after.trim_start_matches('}'))
            }
            None => text.replace('}', ""),
        };
        let mut response: Response = vec![head(label)];
        for text in pieces.iter().map(fill) {
            response.extend([piece(&text), Step::Pause(Duration::from_millis(2))]);
        }
        response.push(end());
        let reply = reply_to([response]).await;
        assert_eq!(reply.text(), "Hello", "{label}: {:?}", reply.error);
        assert_eq!(reply.end().0, FinishReason::Stop, "{label}");
    }
}

#[tokio::test]
async fn pieces_that_arrive_together_are_few_deltas() {
    let words: Vec<_> = (0..40).map(|number| format!("{number} ")).collect();
    let pieces: Vec<_> = words.iter().map(|word| delta(word)).collect();
    let together = stream(&pieces).into_iter().map(|step| match step {
        Step::Send(bytes) => bytes,
        other => panic!("unexpected step: {other:?}"),
    });
    let together = vec![Step::Send(together.flatten().collect())];
    let reply = reply_to([together]).await;
    assert_eq!(reply.text(), words.concat());
    assert!(reply.deltas().len() <= 4, "{:?}", reply.deltas());
}

#[tokio::test]
async fn pieces_with_pauses_are_deltas_of_their_own() {
    let mut response = vec![stream_head()];
    for word in ["a ", "b ", "c "] {
        response.push(event(&delta(word)));
        response.push(Step::Pause(Duration::from_millis(20)));
    }
    response.extend([event(&finish("stop")), end()]);
    let reply = reply_to([response]).await;
    assert_eq!(reply.deltas(), ["a ", "b ", "c "]);
}

#[tokio::test]
async fn lone_surrogates_do_not_fail_the_reply() {
    let half = |escape: &str| {
        let text = delta("a")
            .to_string()
            .replace("\"a\"", &format!("\"{escape}\""));
        piece(&format!("data: {text}\n\n"))
    };
    let reply = reply_to([vec![
        stream_head(),
        event(&delta("A fox: ")),
        half("\\ud83e"),
        half("\\udd8a!"),
        event(&finish("stop")),
        end(),
    ]])
    .await;
    assert_eq!(reply.text(), "A fox: \u{fffd}\u{fffd}!");
    assert_eq!(reply.end().0, FinishReason::Stop);
}

#[tokio::test]
async fn a_delta_is_sent_before_the_next_arrives() {
    let response = vec![
        stream_head(),
        event(&delta("first")),
        Step::Gate,
        event(&delta("second")),
        event(&finish("stop")),
        done(),
        end(),
    ];
    let (upstream, engine) = fixture([response]).await;
    let mut stream = engine.request(request(0)).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    assert_eq!(first, ModelChunk::Text("first".to_owned()));
    assert!(stream.next().now_or_never().is_none());
    upstream.open_gate();
    let rest: Vec<_> = stream.map(Result::unwrap).collect().await;
    assert_eq!(rest[0], ModelChunk::Text("second".to_owned()));
}

#[rstest]
#[case::without_done(vec![stream_head(), event(&delta("Hi")), event(&finish("length")), end()])]
#[case::without_the_last_empty_line(vec![stream_head(), event(&delta("Hi")), piece(&format!("data: {}", finish("length"))), end()])]
#[case::cut_after_the_reason(vec![stream_head(), event(&delta("Hi")), event(&finish("length")), Step::Cut])]
#[case::in_one_piece(vec![stream_head(), piece(&format!(": hello\r\n\r\ndata:{}\r\n\r\ndata:{}\r\n\r\ndata:[DONE]\r\n\r\n", delta("Hi"), finish("length"))), end()])]
#[tokio::test]
async fn a_response_with_a_finish_reason_is_complete(#[case] response: Vec<Step>) {
    let reply = reply_to([response]).await;
    assert_eq!(reply.text(), "Hi");
    assert_eq!(reply.end(), (FinishReason::Length, None));
}

#[tokio::test]
async fn the_wait_for_the_trailer_is_limited() {
    let response = vec![
        stream_head(),
        event(&delta("Hi")),
        event(&finish("stop")),
        Step::Hang,
    ];
    let upstream = Upstream::start([response]).await;
    let engine = engine_with(&upstream, |timeouts| {
        timeouts.trailer = Duration::from_millis(20);
    });
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.end(), (FinishReason::Stop, None));
}

#[tokio::test]
async fn comments_do_not_extend_the_wait_for_the_trailer() {
    let response = vec![
        stream_head(),
        event(&delta("Hi")),
        event(&finish("stop")),
        Step::Repeat(b"e\r\n: keep-alive\n\n\r\n".to_vec()),
    ];
    let upstream = Upstream::start([response]).await;
    let engine = engine_with(&upstream, |timeouts| {
        timeouts.trailer = Duration::from_millis(50);
    });
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), "Hi");
    assert_eq!(reply.end(), (FinishReason::Stop, None));
    upstream.wait_until_abandoned().await;
}

/// A chunk with a finish reason, as some servers send it with every chunk.
fn ending(member: &str, text: &str) -> String {
    let choice = json!({"index": 0, "delta": {member: text}, "finish_reason": "stop"});
    format!("data: {}\n\n", json!({"choices": [choice]}))
}

#[rstest]
#[case::with_every_piece(ending("content", "H") + &ending("content", "i"))]
#[case::with_a_thought(ending("reasoning_content", "hm"))]
#[tokio::test]
async fn a_finish_reason_with_every_chunk_does_not_end_the_reply(#[case] begin: String) {
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
    let upstream = Upstream::start([whole, cut]).await;
    let engine = engine_with(&upstream, |timeouts| {
        timeouts.trailer = Duration::from_millis(20);
    });
    let reply = collect_reply(&engine, request(0)).await;
    assert_eq!(reply.text(), format!("{said_before}, Ada"));
    assert_eq!(reply.end().0, FinishReason::Stop);
    let reply = collect_reply(&engine, request(0)).await;
    assert!(
        matches!(reply.error, Some(ReplyError::CutOff(_))),
        "{reply:?}"
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
async fn implausible_usage_does_not_fail_the_reply(#[case] tokens: &str) {
    let counted = format!("data: {{\"choices\": [], \"usage\": {tokens}}}\n\n");
    let response = vec![
        stream_head(),
        event(&delta("Hi")),
        event(&finish("stop")),
        piece(&counted),
        done(),
        end(),
    ];
    let reply = reply_to([response]).await;
    assert_eq!(reply.text(), "Hi");
    assert_eq!(reply.end(), (FinishReason::Stop, None));
}

#[tokio::test]
async fn text_may_be_split_at_any_byte() {
    let whole = format!(
        "data: {}\r\n\r\ndata: {}\n\n",
        delta("Füchse 🦊"),
        finish("stop")
    );
    let mut response = vec![stream_head()];
    for byte in whole.into_bytes() {
        let mut chunk = b"1\r\n".to_vec();
        chunk.extend([byte, b'\r', b'\n']);
        response.push(Step::Send(chunk));
    }
    response.push(end());
    let reply = reply_to([response]).await;
    assert_eq!(reply.deltas(), ["Füchse 🦊"]);
    assert_eq!(reply.end().0, FinishReason::Stop);
}

#[tokio::test]
async fn consecutive_requests_share_a_connection() {
    let (upstream, engine) = fixture([text_stream("Hi")]).await;
    for number in 0..10 {
        assert_eq!(collect_reply(&engine, request(number)).await.text(), "Hi");
    }
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn each_runtime_uses_a_connection_of_its_own() {
    let (upstream, engine) = fixture([text_stream("Hi")]).await;
    let engine = Arc::new(engine);
    for runtimes in 1..=3 {
        let engine = Arc::clone(&engine);
        let replies = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                for number in 0..3 {
                    assert_eq!(collect_reply(&engine, request(number)).await.text(), "Hi");
                }
            });
        });
        tokio::task::spawn_blocking(|| replies.join().expect("no panic"))
            .await
            .expect("a thread");
        assert_eq!(upstream.connections(), runtimes);
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_are_not_kept() {
    // The replies of a group overlap.
    let mut slow = vec![Step::Pause(Duration::from_millis(100))];
    slow.extend(text_stream("Hi"));
    let upstream = Upstream::start([slow]).await;
    let engine = LlmReplyEngine::new(LlmOptions {
        max_idle_connections: 1,
        ..options(upstream.base_url())
    });
    let engine = engine.expect("an engine");
    for opened in [3, 5] {
        let replies = (0..3).map(|number| collect_reply(&engine, request(number)));
        for reply in join_all(replies).await {
            assert_eq!(reply.text(), "Hi");
        }
        assert_eq!(upstream.connections(), opened, "one of three is used again");
    }
}

#[rstest]
#[case::before_the_head(vec![Step::Hang])]
#[case::before_the_first_event(vec![stream_head(), Step::Hang])]
#[case::within_the_reply(vec![stream_head(), event(&delta("Hi")), Step::Hang])]
#[case::while_the_stream_continues(vec![stream_head(), event(&delta("Hi")), Step::Repeat(b"3\r\n:\n\n\r\n".to_vec())])]
#[tokio::test]
async fn a_dropped_stream_closes_the_connection_at_once(#[case] response: Vec<Step>) {
    let has_output = response.len() > 2;
    let (upstream, engine) = fixture([response]).await;
    let mut stream = engine.request(request(0)).await.unwrap();
    if has_output {
        assert!(stream.next().await.unwrap().is_ok());
    } else {
        tokio::select! {
            part = stream.next() => panic!("{part:?}"),
            () = upstream.wait_for_requests(1) => {}
        }
    }
    drop(stream);
    upstream.wait_until_abandoned().await;
}
