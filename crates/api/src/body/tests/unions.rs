//! Faults inside of alternatives.

use serde_json::json;

use super::faults_of;

#[test]
fn what_may_be_null_is_refused_for_what_is_wrong_inside() {
    let body = json!({
        "name": "Ada",
        "config": {"llm": {"topP": 3, "modle": "x"}, "history": {"maxMessages": -1}},
    });
    let expected = [
        "/config/history/maxMessages too_small: at least 0",
        "/config/llm/modle unknown_member: there is no such member here",
        "/config/llm/topP too_large: at most 1",
    ];
    assert_eq!(faults_of("AgentDraftPatch", &body), expected);
    let limits = json!({"scopes": ["chat:write"], "limits": {"streams": -1, "x": 1}});
    let expected = [
        "/limits/streams too_small: at least 0",
        "/limits/x unknown_member: there is no such member here",
    ];
    assert_eq!(faults_of("KeyRequest", &limits), expected);
}

#[test]
fn what_fits_no_alternative_by_its_type_is_told_all_types() {
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
fn an_unknown_value_among_alternatives_is_told_as_such() {
    let faults = faults_of(
        "KeyRequest",
        &json!({"scopes": ["chat:write"], "bestScope": "x"}),
    );
    assert_eq!(faults.len(), 1);
    assert!(faults[0].starts_with("/bestScope unknown_value: one of 'agents:read',"));
}

#[test]
fn a_rule_that_says_nothing_is_told_both_things_that_it_lacks() {
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
