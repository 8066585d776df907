//! From the derived document to the published one.

use domain::Sizes;
use serde_json::Value;

use super::{component::Missing, config_body, constraints, merge_patch, sizes};

/// Adds to the derived `document` what no derive can say, and writes the configured sizes into
/// it: the components `AgentDraftPatch`, `ConversationDraftPatch` (with those below them) and
/// `ConfigBody`. To be called once, before the document is published and bodies are checked
/// against it.
pub fn complete(document: &mut Value, sizes: &Sizes) -> Result<(), Missing> {
    // Constraints and sizes first: what is derived from a component then has them too.
    constraints::apply(document)?;
    sizes::apply(document, sizes)?;
    for name in ["AgentDraft", "ConversationDraft"] {
        merge_patch::add(document, name)?;
    }
    config_body::add(document)
}
