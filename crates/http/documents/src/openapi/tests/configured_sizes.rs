use domain::{Sizes, text};
use kit::body::{MissingComponent, Schemas};
use serde_json::json;

use super::{derived, document};
use crate::openapi::{complete, configured_sizes};

#[test]
fn the_default_sizes_are_those_that_the_derived_schemas_state() {
    let mut sized = derived();
    configured_sizes::apply(&mut sized, &Sizes::default()).unwrap();
    assert_eq!(sized, derived());
}

#[test]
fn configured_sizes_are_published_and_enforced_in_every_body() {
    let sizes = Sizes {
        name_characters: 3,
        rules: 1,
        capability_characters: 2,
        ..Sizes::default()
    };
    let mut document = derived();
    complete(&mut document, &sizes).unwrap();
    let bodies = ["AgentDraft", "AgentDraftPatch", "ConfigBody"];
    let schemas = Schemas::new(&document, &bodies).unwrap();
    for body in bodies {
        let details = |value| {
            let faults = schemas.check(body, &value).into_iter();
            faults.map(|fault| fault.detail).collect::<Vec<_>>()
        };
        let value = json!({"name": "four", "capabilities": ["abc"]});
        assert_eq!(
            details(value),
            ["at most 2 characters", "at most 3 characters"],
            "{body}"
        );
    }
    let rule = json!({"keywords": ["a"], "reply": "b"});
    let faults = schemas.check("ConfigBody", &json!({"rules": [rule, rule]}));
    assert_eq!(faults[0].detail, "at most 1 item");
}

#[test]
fn a_renamed_component_does_not_lose_its_limits_silently() {
    let mut document = derived();
    let components = document["components"]["schemas"].as_object_mut().unwrap();
    components["ChatRequest"]["properties"]
        .as_object_mut()
        .unwrap()
        .remove("message");
    let missing = MissingComponent("ChatRequest.message".to_owned());
    assert_eq!(complete(&mut document, &Sizes::default()), Err(missing));
}

#[test]
fn the_patterns_in_the_schemas_are_those_of_the_domain() {
    let document = document();
    let pattern = |pointer: &str| {
        let pointer = format!("/components/schemas/{pointer}/pattern");
        document
            .pointer(&pointer)
            .and_then(|value| value.as_str())
            .unwrap()
            .to_owned()
    };
    assert_eq!(pattern("Capability"), text::VISIBLE_NAME_PATTERN);
    assert_eq!(pattern("AgentDraft/properties/name"), text::NAME_PATTERN);
    assert_eq!(
        pattern("AgentDraft/properties/personality"),
        text::TEXT_PATTERN
    );
}
