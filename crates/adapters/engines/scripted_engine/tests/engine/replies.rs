//! The replies to messages and scripts.

use std::time::Duration;

use domain::{FinishReason, Usage};
use ports::{ModelChunk, ReplyError};
use rstest::rstest;
use scripted_engine::{Failure, Script, ScriptedEngine};

use crate::fixture::{collect_reply, delta, start_reply};

fn end() -> ModelChunk {
    ModelChunk::End {
        finish_reason: FinishReason::Stop,
        usage: None,
        model: None,
        state: None,
    }
}

#[rstest]
#[case("Hello", &["Hello"])]
#[case("Hello, what can you do? 🦊", &["Hello, ", "what ", "can ", "you ", "do? ", "🦊"])]
#[case(" two  spaces\n", &[" ", "two ", " ", "spaces\n"])]
#[case("{not a script", &["{not ", "a ", "script"])]
#[case("[\"a\"] ", &["[\"a\"] "])]
#[case("\"a\"", &["\"a\""])]
#[tokio::test]
async fn other_messages_are_echoed_word_by_word(#[case] message: &str, #[case] words: &[&str]) {
    let mut expected: Vec<_> = words.iter().map(|word| delta(word)).collect();
    expected.push(end());
    assert_eq!(collect_reply(message).await, expected);
}

#[tokio::test]
async fn deltas_are_sent_unchanged() {
    let script = Script::deltas(["a", "", " b\n"]);
    assert_eq!(
        collect_reply(&script.to_message()).await,
        [delta("a"), delta(""), delta(" b\n"), end()]
    );
    assert_eq!(script.text(), "a b\n");
    assert_eq!(
        collect_reply(&Script::silence().to_message()).await,
        [end()]
    );
}

#[tokio::test]
async fn words_are_generated_deterministically() {
    let script = Script::words(3);
    let expected = [delta("word1"), delta(" word2"), delta(" word3"), end()];
    assert_eq!(collect_reply(&script.to_message()).await, expected);
    assert_eq!(collect_reply(&script.to_message()).await, expected);
    assert_eq!(script.text(), "word1 word2 word3");
    let many = collect_reply(&Script::words(5_000).to_message()).await;
    assert_eq!((many.len(), &many[4_999]), (5_001, &delta(" word5000")));
}

#[tokio::test]
async fn the_end_has_the_reason_and_usage_of_the_script() {
    let usage = Usage {
        input_tokens: 3,
        output_tokens: 2,
        ..Usage::default()
    };
    for finish_reason in FinishReason::ALL.iter().copied() {
        let script = Script::silence().finish_reason(finish_reason).usage(usage);
        let end = ModelChunk::End {
            finish_reason,
            usage: Some(usage),
            model: None,
            state: None,
        };
        assert_eq!(collect_reply(&script.to_message()).await, [end]);
    }
}

#[test]
fn scripts_are_serialized_as_documented() {
    let milliseconds = Duration::from_millis;
    let whole = Script::words(7)
        .pause(milliseconds(20))
        .first_pause(milliseconds(300))
        .fail_after(1, Failure::RateLimited)
        .gate("door");
    assert_eq!(
        whole.to_message(),
        r#"{"words":7,"pauseMs":20,"firstPauseMs":300,"fail":"rate_limited","failAfter":1,"gate":"door"}"#
    );
    let usage = Usage {
        input_tokens: 3,
        output_tokens: 2,
        ..Usage::default()
    };
    let ends = Script::deltas(["a", "b"])
        .finish_reason(FinishReason::ContentFilter)
        .usage(usage);
    assert_eq!(
        ends.to_message(),
        r#"{"deltas":["a","b"],"finishReason":"content_filter","usage":{"inputTokens":3,"outputTokens":2}}"#
    );
    assert_eq!(Script::silence().hang().to_message(), r#"{"hang":true}"#);
    assert_eq!(Script::silence().panic().to_message(), r#"{"panic":true}"#);
    assert_eq!(Script::silence().to_message(), "{}");
}

#[rstest]
#[case::unknown_member(r#"{"delta":["a"]}"#)]
#[case::wrong_type(r#"{"deltas":"a"}"#)]
#[case::unknown_failure(r#"{"fail":"tired"}"#)]
#[case::two_texts(r#"{"deltas":["a"],"words":1}"#)]
#[case::fails_and_hangs(r#"{"fail":"refused","hang":true}"#)]
#[case::hangs_and_panics(r#"{"hang":true,"panic":true}"#)]
#[case::hangs_and_ends(r#"{"hang":true,"finishReason":"stop"}"#)]
#[case::fails_and_ends(r#"{"fail":"refused","usage":{"inputTokens":1,"outputTokens":1}}"#)]
#[case::fails_after_without_failure(r#"{"deltas":["a"],"failAfter":1}"#)]
#[case::fails_after_more_than_all_deltas(r#"{"words":2,"fail":"refused","failAfter":3}"#)]
#[tokio::test]
async fn invalid_scripts_are_rejected(#[case] message: &str) {
    let engine = ScriptedEngine::new();
    let error = start_reply(&engine, message).await.err();
    assert!(matches!(error, Some(ReplyError::Rejected(_))), "{error:?}");
    assert_eq!(engine.open_streams(), 0);
}
