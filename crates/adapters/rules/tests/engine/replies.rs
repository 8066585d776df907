//! What the engine says to what.

use std::{
    pin::pin,
    sync::{Arc, mpsc},
};

use domain::{FinishReason, Rule};
use futures::{FutureExt as _, StreamExt as _};
use ports::ReplyEngine as _;
use rstest::rstest;
use rule_engine::RuleReplyEngine;
use tokio::{runtime, task::spawn_blocking};

use crate::given::{agent, agent_with, answer, ask, keyword_rule, pattern_rule, request, tenant};

const OTHERWISE: &str = "I'm not sure I understand. I'm Ada, and I can help with time and weather.";

fn ranked(priority: i32, rule: Rule) -> Rule {
    Rule {
        priority: Some(priority),
        ..rule
    }
}

fn asking_for(capability: &str, rule: Rule) -> Rule {
    Rule {
        capability: Some(capability.to_owned()),
        ..rule
    }
}

#[rstest]
#[case("Where is order 42?", "order 42 of u-1")]
#[case("WHERE IS ORDER #7", "order 7 of u-1")]
#[case("refund me, order it was", "refund")]
#[case("my orders", OTHERWISE)]
#[tokio::test]
async fn the_first_rule_that_matches_answers(#[case] message: &str, #[case] expected: &str) {
    let agent = agent_with([
        pattern_rule(
            r"order\s+#?(?<number>\d+)",
            "order {{capture.number}} of {{user.id}}",
        ),
        keyword_rule(&["Order", "refund"], "refund"),
        keyword_rule(&["refund"], "never reached by both words"),
    ]);
    assert_eq!(answer(agent, message).await, expected);
}

#[tokio::test]
async fn the_highest_priority_is_first_and_equal_ones_keep_their_order() {
    let rules = [
        ranked(-1, keyword_rule(&["x"], "below the default")),
        keyword_rule(&["x"], "default"),
        ranked(5, keyword_rule(&["x"], "five")),
        ranked(5, pattern_rule("x", "five again")),
        ranked(0, keyword_rule(&["x"], "zero")),
    ];
    let order = ["five", "five again", "default", "zero", "below the default"];
    for taken in 0..rules.len() {
        let left = rules.iter().filter(|rule| {
            let reply = rule.reply.as_deref().unwrap();
            !order[..taken].contains(&reply)
        });
        let agent = agent_with(left.cloned().collect::<Vec<_>>());
        assert_eq!(answer(agent, "x").await, order[taken]);
    }
}

#[rstest]
#[case(" weather ", "sunny")]
#[case("Weather", "no rule")]
#[case("tides", "no rule")]
#[tokio::test]
async fn a_rule_counts_only_when_the_agent_has_its_capability(
    #[case] capability: &str,
    #[case] expected: &str,
) {
    let mut agent = agent_with([asking_for(capability, keyword_rule(&["today"], "sunny"))]);
    agent.config.fallback_reply = Some("no rule".to_owned());
    assert_eq!(answer(agent, "and today?").await, expected);
}

#[tokio::test]
async fn replies_are_taken_in_turn_by_the_number_of_the_turn() {
    let rule = Rule {
        reply: None,
        replies: Some(["a", "b", "c"].map(str::to_owned).to_vec()),
        ..keyword_rule(&["x"], "")
    };
    let agent = Arc::new(agent_with([rule]));
    let engine = RuleReplyEngine::new().unwrap();
    let mut said = String::new();
    for turn_number in [0, 1, 2, 3, 4, 3_000_000_000] {
        let mut request = request(&agent, "x");
        request.turn_number = turn_number;
        said += &ask(&engine, request).await.0;
    }
    assert_eq!(said, "abcaba");
}

#[tokio::test]
async fn what_the_user_says_is_never_read_as_a_template() {
    let agent = agent_with([pattern_rule(
        r"say (?<what>.*)",
        "{{capture.what}} {{message}}",
    )]);
    assert_eq!(
        answer(agent, "say {{agent.name}}").await,
        "{{agent.name}} say {{agent.name}}"
    );
}

#[tokio::test]
async fn a_group_that_did_not_match_and_an_unknown_user_are_empty() {
    let agent = Arc::new(agent_with([pattern_rule(
        "go( home)?",
        "[{{capture.1}}{{user.id}}]",
    )]));
    let mut request = request(&agent, "go");
    request.user_id = None;
    assert_eq!(ask(&RuleReplyEngine::new().unwrap(), request).await.0, "[]");
}

#[rstest]
#[case::rules_and_fallback(true, true, "hello", "Ada heard hello")]
#[case::rules_and_fallback(true, true, "blue", "Ada heard blue")]
#[case::rules_alone(
    true,
    false,
    "thanks!",
    "You're welcome! Just ask if there is anything else."
)]
#[case::rules_alone(true, false, "blue", OTHERWISE)]
#[case::fallback_alone(false, true, "bye", "Good-bye! It was nice talking to you.")]
#[case::fallback_alone(false, true, "blue", "Ada heard blue")]
#[case::nothing(false, false, "bye", "Good-bye! It was nice talking to you.")]
#[case::nothing(false, false, "blue", OTHERWISE)]
#[tokio::test]
async fn something_sensible_stands_in_when_no_rule_matches(
    #[case] has_rules: bool,
    #[case] has_fallback: bool,
    #[case] message: &str,
    #[case] expected: &str,
) {
    let mut agent = if has_rules {
        agent_with([keyword_rule(&["never"], "never")])
    } else {
        agent()
    };
    agent.config.fallback_reply =
        has_fallback.then(|| "{{agent.name}} heard {{message}}".to_owned());
    assert_eq!(answer(agent, message).await, expected);
}

#[tokio::test]
async fn an_answer_that_grows_too_long_is_cut_and_says_so() {
    let agent = Arc::new(agent_with([pattern_rule(
        "long",
        &"{{message}}".repeat(100),
    )]));
    let message = format!("long {}", "é".repeat(2_000));
    let engine = RuleReplyEngine::new().unwrap();
    let (text, finish_reason) = ask(&engine, request(&agent, &message)).await;
    assert_eq!(finish_reason, FinishReason::Length);
    assert!(text.len() <= 64 * 1024 && text.len() > 64 * 1024 - 4);
}

#[tokio::test]
async fn an_agent_whose_stored_rules_are_bad_is_refused_for_good() {
    let agent = Arc::new(agent_with([pattern_rule("(", "x")]));
    let engine = RuleReplyEngine::new().unwrap();
    let refusal = engine.reply(request(&agent, "x")).await.err().unwrap();
    assert!(!refusal.is_retryable(), "{refusal:?}");
}

#[tokio::test]
async fn a_prepared_agent_answers_short_messages_without_waiting() {
    let agent = Arc::new(agent_with([pattern_rule("hello", "hi")]));
    let engine = RuleReplyEngine::new().unwrap();
    engine.prepare(&tenant(), &agent).await.unwrap();
    assert!(
        engine
            .reply(request(&agent, "hello"))
            .now_or_never()
            .is_some()
    );
}

/// The only thread that may block is held until the reply was polled. There is one rule, because
/// no search pauses before its first.
#[test]
fn long_messages_are_searched_off_the_async_thread() {
    let agent = Arc::new(agent_with([pattern_rule("hello$", "found at the end")]));
    let message = format!("{} hello", "x".repeat(32_000));
    let mut runtime = runtime::Builder::new_current_thread();
    let runtime = runtime
        .enable_time()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = RuleReplyEngine::new().unwrap();
        engine.prepare(&tenant(), &agent).await.unwrap();
        let (release, released) = mpsc::channel::<()>();
        let gate = spawn_blocking(move || released.recv());
        let mut reply = pin!(ask(&engine, request(&agent, &message)));
        let at_once = reply.as_mut().now_or_never();
        assert!(at_once.is_none(), "it was searched at once");
        drop(release);
        assert_eq!(reply.await.0, "found at the end");
        assert!(gate.await.unwrap().is_err(), "nobody sent anything");
    });
}

#[tokio::test]
async fn a_long_reply_streams_sentence_by_sentence_and_a_short_one_at_once() {
    let engine = RuleReplyEngine::new().unwrap();
    for (sentences, reply) in [
        (1, "Good morning! How are you? Well, I hope."),
        (
            2,
            "The weather will be fine until the evening. Then {{agent.name}} would stay inside.",
        ),
    ] {
        let agent = Arc::new(agent_with([pattern_rule("hello", reply)]));
        let stream = engine.reply(request(&agent, "hello")).await.unwrap();
        assert_eq!(stream.count().await, sentences + 1, "{reply}");
        let (text, _) = ask(&engine, request(&agent, "hello")).await;
        assert_eq!(text, reply.replace("{{agent.name}}", "Ada"));
    }
}
