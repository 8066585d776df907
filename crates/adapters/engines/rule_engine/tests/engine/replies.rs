//! The replies of the engine.

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

use crate::fixture::{
    agent, agent_with, collect_reply, first_reply, keyword_rule, pattern_rule, request, tenant,
};

const OTHERWISE: &str = "I'm not sure I understand. I'm Ada, and I can help with time and weather.";

fn with_priority(priority: i32, rule: Rule) -> Rule {
    Rule {
        priority: Some(priority),
        ..rule
    }
}

fn with_capability(capability: &str, rule: Rule) -> Rule {
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
async fn the_first_matching_rule_decides(#[case] message: &str, #[case] expected: &str) {
    let agent = agent_with([
        pattern_rule(
            r"order\s+#?(?<number>\d+)",
            "order {{capture.number}} of {{user.id}}",
        ),
        keyword_rule(&["Order", "refund"], "refund"),
        keyword_rule(&["refund"], "never reached by both words"),
    ]);
    assert_eq!(first_reply(agent, message).await, expected);
}

#[tokio::test]
async fn the_highest_priority_is_first_and_equal_ones_keep_their_order() {
    let rules = [
        with_priority(-1, keyword_rule(&["x"], "below the default")),
        keyword_rule(&["x"], "default"),
        with_priority(5, keyword_rule(&["x"], "five")),
        with_priority(5, pattern_rule("x", "five again")),
        with_priority(0, keyword_rule(&["x"], "zero")),
    ];
    let order = ["five", "five again", "default", "zero", "below the default"];
    for index in 0..rules.len() {
        let left = rules.iter().filter(|rule| {
            let reply = rule.reply.as_deref().unwrap();
            !order[..index].contains(&reply)
        });
        let agent = agent_with(left.cloned().collect::<Vec<_>>());
        assert_eq!(first_reply(agent, "x").await, order[index]);
    }
}

#[rstest]
#[case(" weather ", "sunny")]
#[case("Weather", "no rule")]
#[case("tides", "no rule")]
#[tokio::test]
async fn a_rule_is_active_only_if_the_agent_has_its_capability(
    #[case] capability: &str,
    #[case] expected: &str,
) {
    let mut agent = agent_with([with_capability(
        capability,
        keyword_rule(&["today"], "sunny"),
    )]);
    agent.config.fallback_reply = Some("no rule".to_owned());
    assert_eq!(first_reply(agent, "and today?").await, expected);
}

#[tokio::test]
async fn the_replies_of_a_rule_are_used_in_turn() {
    let rule = Rule {
        reply: None,
        replies: Some(["a", "b", "c"].map(str::to_owned).to_vec()),
        ..keyword_rule(&["x"], "")
    };
    let agent = Arc::new(agent_with([rule]));
    let engine = RuleReplyEngine::new().expect("threads can be started");
    let mut replies = String::new();
    for turn_number in [0, 1, 2, 3, 4, 3_000_000_000] {
        let mut request = request(&agent, "x");
        request.turn_number = turn_number;
        replies += &collect_reply(&engine, request).await.0;
    }
    assert_eq!(replies, "abcaba");
}

#[tokio::test]
async fn the_users_text_is_not_parsed_as_a_template() {
    let agent = agent_with([pattern_rule(
        r"say (?<what>.*)",
        "{{capture.what}} {{message}}",
    )]);
    assert_eq!(
        first_reply(agent, "say {{agent.name}}").await,
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
    assert_eq!(
        collect_reply(
            &RuleReplyEngine::new().expect("threads can be started"),
            request
        )
        .await
        .0,
        "[]"
    );
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
async fn the_fallback_or_small_talk_replies_when_no_rule_matches(
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
    assert_eq!(first_reply(agent, message).await, expected);
}

#[tokio::test]
async fn a_reply_that_is_too_long_is_truncated() {
    let agent = Arc::new(agent_with([pattern_rule(
        "long",
        &"{{message}}".repeat(100),
    )]));
    let message = format!("long {}", "é".repeat(2_000));
    let engine = RuleReplyEngine::new().expect("threads can be started");
    let (text, finish_reason) = collect_reply(&engine, request(&agent, &message)).await;
    assert_eq!(finish_reason, FinishReason::Length);
    assert!(text.len() <= 64 * 1024 && text.len() > 64 * 1024 - 4);
}

#[tokio::test]
async fn invalid_stored_rules_are_a_permanent_error() {
    let agent = Arc::new(agent_with([pattern_rule("(", "x")]));
    let engine = RuleReplyEngine::new().expect("threads can be started");
    let error = engine.request(request(&agent, "x")).await.err().unwrap();
    assert!(!error.is_retryable(), "{error:?}");
}

#[tokio::test]
async fn a_prepared_agent_replies_to_short_messages_without_waiting() {
    let agent = Arc::new(agent_with([pattern_rule("hello", "hi")]));
    let engine = RuleReplyEngine::new().expect("threads can be started");
    engine.prepare(&tenant(), &agent).await.unwrap();
    assert!(
        engine
            .request(request(&agent, "hello"))
            .now_or_never()
            .is_some()
    );
}

/// The only blocking thread is busy until the reply was polled. There is one rule, because no
/// search pauses before its first rule.
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
        let engine = RuleReplyEngine::new().expect("threads can be started");
        engine.prepare(&tenant(), &agent).await.unwrap();
        let (release, released) = mpsc::channel::<()>();
        let gate = spawn_blocking(move || released.recv());
        // The other thread can be faster than one poll, but not than each of a hundred.
        let mut waited = false;
        for _ in 0..100 {
            let mut reply = pin!(collect_reply(&engine, request(&agent, &message)));
            let at_once = reply.as_mut().now_or_never();
            waited |= at_once.is_none();
            let (text, _) = match at_once {
                Some(reply) => reply,
                None => reply.await,
            };
            assert_eq!(text, "found at the end");
        }
        assert!(waited, "it was searched at once");
        drop(release);
        assert!(gate.await.unwrap().is_err(), "nothing was sent");
    });
}

#[rstest]
#[case::long(
    "The weather will be fine until the evening. Then {{agent.name}} would stay inside.",
    1
)]
#[case::empty("{{capture.1}}", 0)]
#[tokio::test]
async fn a_reply_streams_as_one_delta_or_none(#[case] template: &str, #[case] deltas: usize) {
    let engine = RuleReplyEngine::new().expect("threads can be started");
    let agent = Arc::new(agent_with([pattern_rule("hello(x?)", template)]));
    let stream = engine.request(request(&agent, "hello")).await.unwrap();
    assert_eq!(stream.count().await, deltas + 1, "{template}");
    let (text, _) = collect_reply(&engine, request(&agent, "hello")).await;
    let expected = template
        .replace("{{agent.name}}", "Ada")
        .replace("{{capture.1}}", "");
    assert_eq!(text, expected);
}
