//! The published schemas and the types behind them take the same.

use domain::{AgentDraft, ConversationDraft};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{BodyError, parse, schemas};

/// Values on both sides of the limits of most members.
fn any_value() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-0.0),
        json!(1.0),
        json!(1.5),
        json!(100),
        json!(6e4),
        json!(-1_000_000),
        json!(4_294_967_296_u64),
        json!(9_007_199_254_740_991_i64),
        json!(1e300),
        json!(""),
        json!("a"),
        json!([]),
        json!(["a"]),
        json!(["a", "a"]),
        json!([1]),
        json!({}),
        json!({"a": "b"}),
        json!({"a": 1}),
        json!({"maxMessages": 1.0}),
        json!({"temperature": 1, "seed": 1e15}),
        json!([{"pattern": "a", "reply": "b", "priority": 2.0}]),
        json!([{"keywords": ["a"], "replies": ["b"]}]),
    ])
}

fn any_object(members: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(members), any_value(), 0..3).prop_map(
        |members| {
            let members = members.into_iter();
            members
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()
        },
    )
}

const CONFIG: &[&str] = &[
    "engine",
    "fallbacks",
    "instructions",
    "greeting",
    "fallbackReply",
    "rules",
    "llm",
    "history",
    "timeoutMs",
    "metadata",
];

/// Returns true if the type rejected a value that its schema had accepted.
fn contradicts<T>(outcome: &Result<T, BodyError>) -> bool {
    matches!(outcome, Err(BodyError::Faults(faults)) if faults[0].detail.contains("can be read"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn an_agent_that_matches_its_schema_matches_its_type(
        config in any_object(CONFIG),
        beside in any_object(&["personality", "capabilities"]),
    ) {
        let mut body = beside;
        body["name"] = json!("Ada");
        body["config"] = config;
        let outcome = parse::<AgentDraft>(body.to_string().as_bytes(), "AgentDraft", schemas());
        prop_assert!(!contradicts(&outcome), "{body}");
    }

    #[test]
    fn a_patch_that_matches_its_schema_results_in_a_valid_draft(
        config in any_object(CONFIG),
        patch in any_object(&["personality", "capabilities"]),
    ) {
        let mut patch = patch;
        patch["config"] = config;
        let text = patch.to_string();
        if let Ok(patch) = kit::body::parse_value(text.as_bytes(), "AgentDraftPatch", schemas()) {
            let mut draft = json!({"name": "Ada", "config": {"llm": {"seed": 1}, "timeoutMs": 500}});
            domain::merge_patch::apply(&mut draft, patch);
            prop_assert!(serde_json::from_value::<AgentDraft>(draft).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_conversation_that_matches_its_schema_matches_its_type(
        body in any_object(&["title", "metadata"]),
    ) {
        let text = body.to_string();
        let patch = kit::body::parse_value(text.as_bytes(), "ConversationDraftPatch", schemas());
        if let Ok(patch) = patch {
            let mut draft = json!({"title": "x", "metadata": {"a": "x"}});
            domain::merge_patch::apply(&mut draft, patch);
            prop_assert!(serde_json::from_value::<ConversationDraft>(draft).is_ok(), "{text}");
        }
    }
}
