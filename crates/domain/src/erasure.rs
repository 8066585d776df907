//! The erasure of a user's data.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{ErasureId, PrincipalId, TenantId, Timestamp};

/// The principal and the actor that stand in place of an erased user.
pub const ERASED_PRINCIPAL: &str = "user:erased";

/// The time of deletion of an erased conversation. It is before all others, so the next purge removes the
/// conversation, and no request returns its turns.
pub const ERASED_AT: Timestamp = Timestamp::from_milliseconds(0);

/// The numbers of what an erasure has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ErasureCounts {
    /// The number of conversations.
    pub conversations: i64,
    /// The number of messages in them, without superseded ones.
    pub messages: i64,
}

/// An erasure that has ended, as the log stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedErasure {
    /// The erasure.
    pub erasure_id: ErasureId,
    /// The numbers of what it has removed.
    pub counts: ErasureCounts,
}

/// Returns the ids under which a user is a principal. A user of an identity provider, whose id contains a tilde, is one
/// under that id itself; the id of any other user can be that of a principal who is no user.
pub fn principals_of(user_id: &str) -> [PrincipalId; 2] {
    let own = PrincipalId::user(user_id);
    let external = if user_id.contains('~') {
        PrincipalId::new(user_id)
    } else {
        own.clone()
    };
    [own, external]
}

/// Returns the digest under which the generation of the tokens of an erased user is kept. No user id has its form:
/// it contains a control character.
pub fn erased_user(tenant: &TenantId, user_id: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(tenant.as_str());
    digest.update([0]);
    digest.update(user_id);
    let digest = digest.finalize();
    digest
        .iter()
        .fold("\u{1}".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}
