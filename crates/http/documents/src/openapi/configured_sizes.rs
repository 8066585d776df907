//! Writes the configured sizes into the document, so that a server publishes and enforces its own
//! limits.

use domain::Sizes;
use kit::body::MissingComponent;
use serde_json::Value;

use super::component::{component_mut, member_mut};

/// A member of a component, a keyword of its schema, and the value of the keyword.
type Limit = (&'static str, &'static str, u32);

/// Writes `sizes` into the document. The default sizes change nothing, because the derived schemas
/// contain them.
pub(super) fn apply(document: &mut Value, sizes: &Sizes) -> Result<(), MissingComponent> {
    let conversation: [Limit; 2] = [
        ("userId", "maxLength", sizes.user_id_characters),
        ("title", "maxLength", sizes.title_characters),
    ];
    let user: [Limit; 1] = [("userId", "maxLength", sizes.user_id_characters)];
    let members: [(&str, &[Limit]); 12] = [
        (
            "AgentDraft",
            &[
                ("name", "maxLength", sizes.name_characters),
                ("personality", "maxLength", sizes.personality_characters),
                ("capabilities", "maxItems", sizes.capabilities),
            ],
        ),
        ("AgentConfig", &[("rules", "maxItems", sizes.rules)]),
        (
            "Rule",
            &[("capability", "maxLength", sizes.capability_characters)],
        ),
        (
            "RuleTestRequest",
            &[
                ("rules", "maxItems", sizes.rules),
                ("capabilities", "maxItems", sizes.capabilities),
                ("message", "maxLength", sizes.message_characters),
                ("userId", "maxLength", sizes.user_id_characters),
            ],
        ),
        (
            "ChatRequest",
            &[
                ("message", "maxLength", sizes.message_characters),
                ("userId", "maxLength", sizes.user_id_characters),
            ],
        ),
        ("ConversationRequest", &conversation),
        (
            "ImportedMessage",
            &[("content", "maxLength", sizes.message_characters)],
        ),
        ("ConversationDraft", &conversation),
        ("FeedbackDraft", &user),
        ("UserTokenDraft", &user),
        ("KeyDraft", &[("name", "maxLength", sizes.name_characters)]),
        (
            "ClientDraft",
            &[("name", "maxLength", sizes.name_characters)],
        ),
    ];
    for (component, limits) in members {
        for (member, keyword, limit) in limits {
            member_mut(document, component, member)?.insert((*keyword).to_owned(), (*limit).into());
        }
    }
    component_mut(document, "Capability")?
        .insert("maxLength".to_owned(), sizes.capability_characters.into());
    Ok(())
}
