//! Constraints that cannot be derived from the types.

use domain::{
    credential::MOST_OVERLAP_SECONDS,
    credential_draft::MOST_ALLOWED_ORIGINS,
    public_key::MOST_KID_CHARACTERS,
    public_key_set::MOST_KEYS,
    text::NAME_PATTERN,
    web_address::{HTTPS_PATTERN, MOST_ADDRESS_CHARACTERS, ORIGIN_PATTERN},
};
use serde_json::{Value, json};

use super::component::{MissingComponent, component_mut, member_mut};

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
    component_mut(document, "Origin")?.insert("pattern".to_owned(), ORIGIN_PATTERN.into());
    for (component, member, keyword, value) in [
        ("AgentDraft", "capabilities", "uniqueItems", true.into()),
        ("KeyDraft", "scopes", "uniqueItems", true.into()),
        ("KeyDraft", "allowedOrigins", "uniqueItems", true.into()),
        ("ClientDraft", "scopes", "uniqueItems", true.into()),
        ("TicketRequest", "scopes", "uniqueItems", true.into()),
        ("KeyDraft", "name", "pattern", NAME_PATTERN.into()),
        (
            "KeyDraft",
            "allowedOrigins",
            "maxItems",
            MOST_ALLOWED_ORIGINS.into(),
        ),
        (
            "KeyRotation",
            "overlapSeconds",
            "maximum",
            MOST_OVERLAP_SECONDS.into(),
        ),
        ("ClientDraft", "name", "pattern", NAME_PATTERN.into()),
        ("ClientDraft", "jwksUri", "pattern", HTTPS_PATTERN.into()),
        (
            "ClientDraft",
            "jwksUri",
            "maxLength",
            MOST_ADDRESS_CHARACTERS.into(),
        ),
        (
            "ClientRotation",
            "overlapSeconds",
            "maximum",
            MOST_OVERLAP_SECONDS.into(),
        ),
        ("PublicKeySet", "keys", "maxItems", MOST_KEYS.into()),
        ("PublicKey", "kid", "maxLength", MOST_KID_CHARACTERS.into()),
    ] {
        member_mut(document, component, member)?.insert(keyword.to_owned(), value);
    }
    Ok(())
}
