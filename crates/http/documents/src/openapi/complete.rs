//! Completes the derived document for publication.

use domain::Sizes;
use kit::body::MissingComponent;
use serde_json::Value;

use super::{config_body, configured_sizes, constraints, merge_patch};

/// Adds everything that cannot be derived, and writes the configured sizes into `document`: the
/// components of merge patches (with the components below them) and `ConfigBody`. Must be called
/// once, before the document is published and used to validate bodies.
pub fn complete(document: &mut Value, sizes: &Sizes) -> Result<(), MissingComponent> {
    // Constraints and sizes are first, so that components derived from others have them too.
    constraints::apply(document)?;
    configured_sizes::apply(document, sizes)?;
    for (name, fixed) in [
        ("AgentDraft", [].as_slice()),
        ("ConversationDraft", &[]),
        ("StaffMessageDraft", &["files", "author", "clientMessageId"]),
        ("UserDraft", &[]),
        ("KeyDraft", &["scopes"]),
        ("ClientDraft", &["scopes", "jwks", "jwksUri"]),
    ] {
        merge_patch::add(document, name, fixed)?;
    }
    config_body::add(document)
}
