//! Writes the configured sizes into the document, so that a server publishes and enforces its own
//! limits.

use domain::Sizes;
use serde_json::Value;

use super::component::{MissingComponent, component_mut, member_mut};

/// Writes `sizes` into the document. The default sizes change nothing, because the derived schemas
/// contain them.
pub(super) fn apply(document: &mut Value, sizes: &Sizes) -> Result<(), MissingComponent> {
    let members = [
        ("AgentDraft", "name", "maxLength", sizes.name_characters),
        ("KeyDraft", "name", "maxLength", sizes.name_characters),
        ("ClientDraft", "name", "maxLength", sizes.name_characters),
        (
            "AgentDraft",
            "personality",
            "maxLength",
            sizes.personality_characters,
        ),
        ("AgentDraft", "capabilities", "maxItems", sizes.capabilities),
        ("AgentConfig", "rules", "maxItems", sizes.rules),
        (
            "Rule",
            "capability",
            "maxLength",
            sizes.capability_characters,
        ),
        (
            "ChatRequest",
            "message",
            "maxLength",
            sizes.message_characters,
        ),
        (
            "ChatRequest",
            "userId",
            "maxLength",
            sizes.user_id_characters,
        ),
        (
            "ConversationRequest",
            "userId",
            "maxLength",
            sizes.user_id_characters,
        ),
        (
            "ConversationRequest",
            "title",
            "maxLength",
            sizes.title_characters,
        ),
        (
            "ConversationDraft",
            "title",
            "maxLength",
            sizes.title_characters,
        ),
    ];
    for (component, member, keyword, limit) in members {
        member_mut(document, component, member)?.insert(keyword.to_owned(), limit.into());
    }
    component_mut(document, "Capability")?
        .insert("maxLength".to_owned(), sizes.capability_characters.into());
    Ok(())
}
