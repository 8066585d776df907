//! The duration of a reply. Measured in optimised builds only:
//! `cargo test --release -p rule_engine --test engine -- --nocapture`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::Rule;
use ports::ReplyEngine as _;
use rule_engine::RuleReplyEngine;

use crate::fixture::{agent_with, keyword_rule, pattern_rule, request, tenant};

/// Two hundred typical rules, none of which matches the message.
fn rules() -> Vec<Rule> {
    let kinds: [fn(usize) -> Rule; 8] = [
        |n| pattern_rule(&format!(r"\bproduct{n}\b"), "x"),
        |n| pattern_rule(&format!(r"^(hi|hello|hey) robot {n}\b"), "x"),
        |n| pattern_rule(&format!(r"my name{n} is (?<name>\w+)"), "{{capture.name}}"),
        |n| pattern_rule(&format!(r"ticket\s+{n}-(\d+)"), "{{capture.1}}"),
        |n| {
            pattern_rule(
                &format!(r"(what|how) (is|are|do) .* {n}th (price|cost)"),
                "x",
            )
        },
        |n| keyword_rule(&["order", &format!("cancel{n}")], "x"),
        |n| keyword_rule(&[&format!("good morning {n}")], "x"),
        |n| keyword_rule(&["invoice", "refund"], &format!("{n}")),
    ];
    (0..200).map(|n| kinds[n % kinds.len()](n)).collect()
}

fn message() -> String {
    let text = "Hello there, I would like to know how my order is doing; I live in Zürich, and \
                what I paid is 49.90 €. ";
    text.repeat(12).chars().take(1_000).collect()
}

#[tokio::test]
#[cfg_attr(debug_assertions, ignore = "measures optimised builds")]
async fn a_reply_by_two_hundred_rules_takes_a_few_milliseconds_at_most() {
    let agent = Arc::new(agent_with(rules()));
    let engine = RuleReplyEngine::new().expect("threads can be started");
    let started = Instant::now();
    engine.prepare(&tenant(), &agent).await.unwrap();
    println!("prepared in {:?}", started.elapsed());
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..500 {
        let request = request(&agent, &message());
        let started = Instant::now();
        assert!(engine.request(request).await.is_ok());
        times.push(started.elapsed());
    }
    println!("first reply in {:?}", times[0]);
    times.sort_unstable();
    println!("median {:?}, p99 {:?}", times[250], times[495]);
    assert!(times[250] < Duration::from_millis(5), "{:?}", times[250]);
}
