//! The conditions of a write that was decided without reading.

use std::collections::BTreeMap;

use domain::{NodeId, Seq, TenantId};

use super::{CredentialKey, InTenant, RecordKey, RunningTurn};
use crate::ConversationName;

/// The conditions of rows that were decided on facts which were not read in the same transaction. Every fact is either covered by the head of its tenant, which each change of it
/// raises, or is one of the other conditions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conditions {
    /// The heads of the tenants.
    pub heads: BTreeMap<TenantId, Seq>,
    /// Nodes that are registered and not marked as dead.
    pub live_nodes: Vec<NodeId>,
    /// Idempotency keys without a record, however old.
    pub unused_keys: Vec<RecordKey>,
    /// Names that no conversation has.
    pub unused_names: Vec<InTenant<ConversationName>>,
    /// Credentials that exist and are not revoked.
    pub valid_credentials: Vec<CredentialKey>,
    /// Turns that are in progress under these nodes.
    pub running_turns: Vec<RunningTurn>,
}
