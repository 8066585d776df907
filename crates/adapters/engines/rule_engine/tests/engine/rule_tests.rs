//! Tests of rules: the reply, and the result of each rule.

use std::sync::Arc;

use domain::{
    Agent, FinishReason, Rule, RuleOutcome as Outcome, RuleReplySource as Source, RuleTest,
};
use ports::ReplyEngine as _;
use rule_engine::RuleReplyEngine;

use crate::fixture::{agent, agent_with, keyword_rule, pattern_rule, request};

async fn test(agent: Agent, message: &str) -> RuleTest {
    let engine = RuleReplyEngine::new().expect("threads can be started");
    let test = engine.test_rules(request(&Arc::new(agent), message)).await;
    test.expect("valid rules").expect("an engine with rules")
}

fn outcomes(test: &RuleTest) -> Vec<Outcome> {
    test.rules.iter().map(|result| result.outcome).collect()
}

#[tokio::test]
async fn each_rule_has_the_first_reason_why_it_did_not_reply() {
    let rules = [
        keyword_rule(&["Order", "Refund", "now"], "not all words"),
        Rule {
            capability: Some("orders".to_owned()),
            ..pattern_rule("order", "for other agents")
        },
        pattern_rule("parcel", "another topic"),
        Rule {
            name: Some("numbers".to_owned()),
            ..pattern_rule(r"order (\d+)", "{{capture.1}} of {{user.id}}")
        },
        pattern_rule("order", "too late"),
        Rule {
            priority: Some(1),
            ..keyword_rule(&["parcel"], "first")
        },
    ];
    let test = test(agent_with(rules), "Where is order 42?").await;
    assert_eq!(
        (test.reply.as_str(), test.source),
        ("42 of u-1", Source::Rule)
    );
    assert_eq!(test.finish_reason, FinishReason::Stop);
    assert_eq!(test.matched_rule, Some(3));
    assert_eq!(
        outcomes(&test),
        [
            Outcome::MissingKeyword,
            Outcome::MissingCapability,
            Outcome::PatternNotFound,
            Outcome::Matched,
            Outcome::Later,
            Outcome::MissingKeyword,
        ]
    );
    let details = test.rules.iter().map(|result| {
        (
            result.index,
            result.name.as_deref(),
            result.keyword.as_deref(),
            result.capability.as_deref(),
        )
    });
    assert_eq!(
        details.collect::<Vec<_>>(),
        [
            (0, None, Some("Refund"), None),
            (1, None, None, Some("orders")),
            (2, None, None, None),
            (3, Some("numbers"), None, None),
            (4, None, None, None),
            (5, None, Some("parcel"), None),
        ]
    );
}

#[tokio::test]
async fn a_rule_with_the_required_capability_is_tried() {
    let rule = Rule {
        capability: Some(" time ".to_owned()),
        ..pattern_rule("late", "It is late.")
    };
    let test = test(agent_with([rule]), "How late is it?").await;
    assert_eq!(outcomes(&test), [Outcome::Matched]);
    assert_eq!(test.rules[0].capability, None);
}

#[tokio::test]
async fn a_reply_without_a_matching_rule_has_a_source() {
    let with_fallback = || {
        let mut agent = agent_with([pattern_rule("never", "x")]);
        agent.config.fallback_reply = Some("Sorry, {{user.id}}.".to_owned());
        agent
    };
    for (agent, message, source) in [
        (with_fallback(), "hi", Source::FallbackReply),
        (
            agent_with([pattern_rule("never", "x")]),
            "hi",
            Source::SmallTalk,
        ),
        (agent(), "hi", Source::SmallTalk),
        (agent(), "xyzzy", Source::Default),
    ] {
        let test = test(agent, message).await;
        assert_eq!(
            (test.source, test.matched_rule),
            (source, None),
            "{message}"
        );
        assert!(!test.reply.is_empty());
    }
    assert_eq!(test(with_fallback(), "hi").await.reply, "Sorry, u-1.");
}

#[tokio::test]
async fn a_cut_reply_is_reported() {
    let reply = "{{message}}".repeat(3);
    let test = test(
        agent_with([pattern_rule("^x", &reply)]),
        &"x".repeat(30_000),
    )
    .await;
    assert_eq!(test.finish_reason, FinishReason::Length);
    assert_eq!(test.reply.len(), 64 * 1024);
}
