//! The checks of an agent before it is saved.

use std::sync::Arc;

use domain::{Agent, FaultCode, InputFault, Rule};
use ports::{PrepareError, ReplyEngine as _};
use rstest::rstest;
use rule_engine::RuleReplyEngine;
use serde_json::json;

use crate::fixture::{agent, agent_with, keyword_rule, pattern_rule, tenant};

async fn prepare_faults(agent: Agent) -> Vec<InputFault> {
    let engine = RuleReplyEngine::new().expect("threads can be started");
    let prepared = engine.prepare(&tenant(), &Arc::new(agent)).await;
    match prepared {
        Ok(()) => Vec::new(),
        Err(PrepareError::Invalid(faults)) => faults,
        Err(PrepareError::Overloaded) => panic!("an idle engine is overloaded"),
    }
}

#[tokio::test]
async fn all_faults_are_reported_at_once_with_pointers() {
    let mut agent = agent_with([
        pattern_rule("fine (.*)", "{{capture.1}}"),
        pattern_rule("(unclosed", "{{capture.9}} may be right"),
        pattern_rule("(a)(?<b>b)", "{{capture.2}} {{capture.c}}"),
        Rule {
            reply: None,
            replies: Some(vec!["{{message}}".to_owned(), "{{mesage}}".to_owned()]),
            ..keyword_rule(&["a"], "")
        },
        keyword_rule(&["a", " \t"], "{{capture.1}}"),
        Rule {
            capability: Some("not had".to_owned()),
            ..pattern_rule("*", "x")
        },
        pattern_rule("[", "{{unknown}}"),
    ]);
    agent.config.fallback_reply = Some("{{capture.1}}".to_owned());
    let faults = prepare_faults(agent).await;
    let places: Vec<_> = faults
        .iter()
        .map(|fault| (fault.pointer.as_str(), fault.code))
        .collect();
    assert_eq!(
        places,
        [
            ("/config/rules/1/pattern", FaultCode::BadFormat),
            ("/config/rules/2/reply", FaultCode::UnknownValue),
            ("/config/rules/3/replies/1", FaultCode::UnknownValue),
            ("/config/rules/4/keywords/1", FaultCode::BadFormat),
            ("/config/rules/4/reply", FaultCode::UnknownValue),
            ("/config/rules/5/pattern", FaultCode::BadFormat),
            ("/config/rules/6/pattern", FaultCode::BadFormat),
            ("/config/rules/6/reply", FaultCode::UnknownValue),
            ("/config/fallbackReply", FaultCode::UnknownValue),
        ]
    );
    assert_eq!(faults[0].detail, "unclosed group");
    assert!(faults.iter().all(|fault| !fault.detail.contains('\n')));
}

#[tokio::test]
async fn unknown_placeholders_of_calls_are_reported_with_pointers() {
    let call = |arguments| {
        let call = json!({"tool": "time", "arguments": arguments});
        serde_json::from_value(call).ok()
    };
    let faults = prepare_faults(agent_with([
        Rule {
            call: call(json!({"a": "{{capture.1}}", "b/c": [1, {"d": "{{capture.2}}"}]})),
            ..pattern_rule("(a)", "{{result}} {{capture.1}}")
        },
        Rule {
            call: call(json!({"zone": "{{result}}"})),
            ..keyword_rule(&["a"], "{{results}}")
        },
        pattern_rule("a", "{{result}}"),
    ]));
    let faults = faults.await;
    let places: Vec<_> = faults.iter().map(|fault| &*fault.pointer).collect();
    let expected = [
        "/config/rules/0/call/arguments/b~1c/1/d",
        "/config/rules/1/reply",
        "/config/rules/1/call/arguments/zone",
        "/config/rules/2/reply",
    ];
    assert_eq!(places, expected);
    assert!(faults.iter().all(|it| it.code == FaultCode::UnknownValue));
}

#[rstest]
#[case::none(agent())]
#[case::patterns(agent_with([pattern_rule(r"^(?<greeting>hi|hello)\b", "{{ capture.greeting }}!")]))]
#[case::whole_match(agent_with([pattern_rule("a", "{{capture.0}}")]))]
#[case::keywords(agent_with([keyword_rule(&["👋"], "{{agent.personality}}")]))]
#[tokio::test]
async fn valid_rules_have_no_faults(#[case] agent: Agent) {
    assert_eq!(prepare_faults(agent).await, []);
}

/// Rules of about 100 KiB each, because of the Unicode class.
fn ordinary_rules(count: usize) -> Vec<Rule> {
    let rule = |number| pattern_rule(&format!(r"hello{number} (?<who>\w+)"), "{{capture.who}}");
    (0..count).map(rule).collect()
}

#[tokio::test]
async fn two_hundred_ordinary_rules_fit() {
    assert_eq!(prepare_faults(agent_with(ordinary_rules(200))).await, []);
}

#[tokio::test]
async fn rules_that_are_too_large_in_total_are_rejected() {
    let faults = prepare_faults(agent_with(ordinary_rules(800))).await;
    let [fault] = faults.as_slice() else {
        panic!("{} faults", faults.len());
    };
    assert_eq!(fault.pointer, "/config/rules");
    assert_eq!(fault.code, FaultCode::TooLarge);
}
