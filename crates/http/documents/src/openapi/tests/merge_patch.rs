use kit::body::Schemas;
use serde_json::{Value, json};

use super::document;

fn component(name: &str) -> Value {
    document()["components"]["schemas"][name].clone()
}

fn accepts(schema: &str, patch: &Value) -> bool {
    let schemas = Schemas::new(&document(), &[schema]).unwrap();
    schemas.check(schema, patch).is_empty()
}

#[test]
fn nothing_is_required_and_null_removes_only_what_is_optional() {
    for patch in [
        json!({}),
        json!({"personality": null, "capabilities": null, "config": null}),
        json!({"config": {"engine": null, "rules": null, "llm": null, "timeoutMs": null}}),
        json!({"config": {"llm": {"model": null}, "history": {"maxMessages": null}}}),
        json!({"config": {"metadata": {"old": null, "new": "x"}}}),
    ] {
        assert!(accepts("AgentDraftPatch", &patch), "{patch}");
    }
    assert!(!accepts("AgentDraftPatch", &json!({"name": null})));
    assert!(accepts(
        "ConversationDraftPatch",
        &json!({"title": null, "metadata": {"a": null}})
    ));
}

#[test]
fn limits_of_a_key_are_merged_and_its_scopes_are_unknown() {
    for patch in [
        json!({"limits": null, "expiresAt": null, "agentIds": null, "allowedOrigins": null}),
        json!({"limits": {"chatBurst": null, "streams": 0}}),
    ] {
        assert!(accepts("KeyDraftPatch", &patch), "{patch}");
    }
    assert!(!accepts("KeyDraftPatch", &json!({"scopes": null})));
    assert!(!accepts("KeyDraftPatch", &json!({"limits": {"old": null}})));
    for fixed in ["scopes", "jwks", "jwksUri", "allowedOrigins"] {
        assert!(
            !accepts("ClientDraftPatch", &json!({fixed: null})),
            "{fixed}"
        );
    }
}

#[test]
fn values_that_are_replaced_are_checked_as_a_whole() {
    assert!(!accepts(
        "AgentDraftPatch",
        &json!({"config": {"rules": [{"reply": "a"}]}})
    ));
    assert!(!accepts(
        "AgentDraftPatch",
        &json!({"config": {"rules": [null]}})
    ));
    assert!(!accepts(
        "AgentDraftPatch",
        &json!({"capabilities": ["a", "a"]})
    ));
    assert!(!accepts(
        "AgentDraftPatch",
        &json!({"config": {"llm": {"topP": 2}}})
    ));
    assert!(!accepts(
        "AgentDraftPatch",
        &json!({"config": {"colour": null}})
    ));
}

#[test]
fn a_patch_may_remove_as_many_pairs_as_it_adds() {
    let pairs = (0..32).map(|index| {
        let value = if index < 16 { Value::Null } else { json!("x") };
        (index.to_string(), value)
    });
    let patch = json!({"metadata": pairs.collect::<Value>()});
    assert!(accepts("ConversationDraftPatch", &patch));
}

#[test]
fn members_keep_their_descriptions_and_lose_their_defaults() {
    let patch = component("AgentDraftPatch");
    assert_eq!(patch.get("required"), None);
    assert_eq!(patch["additionalProperties"], false);
    let personality = &patch["properties"]["personality"];
    assert_eq!(personality["type"], json!(["string", "null"]));
    assert_eq!(
        personality["description"],
        "The agent's personality, as free text. Default: empty."
    );
    assert_eq!(personality.get("default"), None);
    assert_eq!(personality["maxLength"], 8000);

    let config = &patch["properties"]["config"];
    let alternatives = json!([{"$ref": "#/components/schemas/AgentConfigPatch"}, {"type": "null"}]);
    assert_eq!(config["anyOf"], alternatives);
    assert!(config["description"].is_string());
    assert_eq!(
        component("HistoryLimitsPatch")["properties"]["maxMessages"].get("default"),
        None
    );
}

#[test]
fn the_patched_schemas_are_not_changed() {
    assert_eq!(component("AgentDraft")["required"], json!(["name"]));
    assert_eq!(
        component("AgentConfig")["properties"]["timeoutMs"]["maximum"],
        600_000
    );
    assert_eq!(component("Metadata")["maxProperties"], 16);
}
