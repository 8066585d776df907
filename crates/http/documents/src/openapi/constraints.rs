//! Constraints that cannot be derived from the types.

use domain::{
    allowed_origin::ENTRY_PATTERN,
    config::RETENTION_PATTERN,
    credential::MAX_OVERLAP_SECONDS,
    credential_draft::MAX_ALLOWED_ORIGINS,
    id::UUID_PATTERN,
    public_key::MAX_KID_CHARACTERS,
    public_key_set::MAX_KEYS,
    text::NAME_PATTERN,
    web_address::{HTTPS_PATTERN, MAX_ADDRESS_CHARACTERS},
};
use kit::body::MissingComponent;
use serde_json::{Value, json};

use super::component::{component_mut, member_mut, reference};

/// Adds the constraints: a rule has exactly one kind of match and one kind of reply, lists have
/// unique items, and credentials have the limits of the domain.
pub(super) fn apply(document: &mut Value) -> Result<(), MissingComponent> {
    let exactly_one = |first: &str, second: &str| json!({"oneOf": [{"required": [first]}, {"required": [second]}]});
    component_mut(document, "Rule")?.insert(
        "allOf".to_owned(),
        json!([
            exactly_one("pattern", "keywords"),
            exactly_one("reply", "replies")
        ]),
    );
    refuse_unknown_members(document)?;
    component_mut(document, "Origin")?.insert("pattern".to_owned(), ENTRY_PATTERN.into());
    for (component, member) in [
        ("AgentDraft", "capabilities"),
        ("RuleTestRequest", "capabilities"),
        ("KeyDraft", "scopes"),
        ("KeyDraft", "allowedOrigins"),
        ("ClientDraft", "scopes"),
        ("TicketRequest", "scopes"),
        ("UserTokenDraft", "scopes"),
        ("UserTokenDraft", "allowedOrigins"),
    ] {
        let schema = member_mut(document, component, member)?;
        schema.insert("uniqueItems".to_owned(), true.into());
    }
    refuse_malformed_agents(document)?;
    for (component, member, keyword, value) in keywords() {
        member_mut(document, component, member)?.insert(keyword.to_owned(), value);
    }
    Ok(())
}

/// Returns the constraints that are one keyword of a member.
fn keywords() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    vec![
        ("KeyDraft", "name", "pattern", Value::from(NAME_PATTERN)),
        (
            "KeyDraft",
            "allowedOrigins",
            "maxItems",
            MAX_ALLOWED_ORIGINS.into(),
        ),
        (
            "KeyRotation",
            "overlapSeconds",
            "maximum",
            MAX_OVERLAP_SECONDS.into(),
        ),
        ("ClientDraft", "name", "pattern", NAME_PATTERN.into()),
        ("ClientDraft", "jwksUri", "pattern", HTTPS_PATTERN.into()),
        (
            "ClientDraft",
            "jwksUri",
            "maxLength",
            MAX_ADDRESS_CHARACTERS.into(),
        ),
        (
            "ClientRotation",
            "overlapSeconds",
            "maximum",
            MAX_OVERLAP_SECONDS.into(),
        ),
        (
            "AgentConfig",
            "retention",
            "pattern",
            RETENTION_PATTERN.into(),
        ),
        ("PublicKeySet", "keys", "maxItems", MAX_KEYS.into()),
        ("PublicKey", "kid", "maxLength", MAX_KID_CHARACTERS.into()),
    ]
}

/// Elsewhere a malformed id is an unknown one.
fn refuse_malformed_agents(document: &mut Value) -> Result<(), MissingComponent> {
    for component in ["KeyDraft", "ClientDraft", "UserTokenDraft"] {
        let schema = member_mut(document, component, "agentIds")?;
        schema.insert("uniqueItems".to_owned(), true.into());
        let id = json!({"$ref": reference("AgentId"), "pattern": UUID_PATTERN});
        schema.insert("items".to_owned(), id);
    }
    Ok(())
}

/// Stored, these documents may have members of a newer version; sent, they may not.
fn refuse_unknown_members(document: &mut Value) -> Result<(), MissingComponent> {
    for name in [
        "AgentConfig",
        "FallbackModel",
        "HistoryLimits",
        "LimitOverrides",
        "LlmSettings",
        "ProfileConfig",
        "Rule",
        "RuleCall",
        "TitlesConfig",
        "ToolEntry",
    ] {
        component_mut(document, name)?.insert("additionalProperties".to_owned(), false.into());
    }
    Ok(())
}
