//! What the document must say and the derived schemas cannot.

use serde_json::{Value, json};

use super::component::{Missing, component_mut, member_mut};

/// Says that a rule matches by exactly one thing and answers by exactly one, and in which lists
/// nothing stands twice.
pub(super) fn apply(document: &mut Value) -> Result<(), Missing> {
    let exactly_one = |first: &str, second: &str| json!({"oneOf": [{"required": [first]}, {"required": [second]}]});
    component_mut(document, "Rule")?.insert(
        "allOf".to_owned(),
        json!([
            exactly_one("pattern", "keywords"),
            exactly_one("reply", "replies")
        ]),
    );
    for (component, member) in [
        ("AgentDraft", "capabilities"),
        ("KeyDraft", "scopes"),
        ("KeyDraft", "allowedOrigins"),
        ("ClientDraft", "scopes"),
    ] {
        member_mut(document, component, member)?.insert("uniqueItems".to_owned(), true.into());
    }
    Ok(())
}
