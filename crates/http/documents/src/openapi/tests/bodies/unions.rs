//! Faults inside of alternatives.

use serde_json::json;

use super::faults_of;

#[test]
fn faults_inside_a_nullable_value_are_reported() {
    let body = json!({
        "name": "Ada",
        "config": {"llm": {"topP": 3, "modle": "x"}, "history": {"maxMessages": -1}},
    });
    let expected = [
        "/config/history/maxMessages too_small: at least 0",
        "/config/llm/modle unknown_member: unknown member",
        "/config/llm/topP too_large: at most 1",
    ];
    assert_eq!(faults_of("AgentDraftPatch", &body), expected);
    let limits = json!({"scopes": ["chat:write"], "limits": {"streams": -1, "x": 1}});
    let expected = [
        "/limits/streams too_small: at least 0",
        "/limits/x unknown_member: unknown member",
    ];
    assert_eq!(faults_of("KeyRequest", &limits), expected);
}

#[test]
fn a_value_of_no_allowed_type_is_reported_with_all_types() {
    let body = json!({"config": 5, "personality": 5});
    let expected = [
        "/config wrong_type: must be an object or null",
        "/personality wrong_type: must be a string or null",
    ];
    assert_eq!(faults_of("AgentDraftPatch", &body), expected);
    let body = json!({"scopes": ["chat:write"], "bestScope": 5, "expiresAt": []});
    let expected = [
        "/bestScope wrong_type: must be a string or null",
        "/expiresAt wrong_type: must be a string or null",
    ];
    assert_eq!(faults_of("KeyRequest", &body), expected);
}

#[test]
fn an_unknown_value_among_alternatives_is_reported_as_unknown() {
    let faults = faults_of(
        "KeyRequest",
        &json!({"scopes": ["chat:write"], "bestScope": "x"}),
    );
    assert_eq!(faults.len(), 1);
    assert!(faults[0].starts_with("/bestScope unknown_value: one of 'agents:read',"));
}

#[test]
fn an_empty_rule_is_reported_with_both_missing_parts() {
    let body =
        json!({"rules": [{}, {"pattern": "a", "keywords": ["a"], "reply": "b", "replies": ["b"]}]});
    let expected = [
        "/rules/0/pattern required: one of 'pattern' and 'keywords'",
        "/rules/0/reply required: one of 'reply' and 'replies'",
        "/rules/1/keywords not_combinable: only one of 'pattern' and 'keywords'",
        "/rules/1/replies not_combinable: only one of 'reply' and 'replies'",
    ];
    assert_eq!(faults_of("ConfigBody", &body), expected);
}
