//! Tells all nodes that something is to be looked at.

use domain::{AgentId, ConversationId, PrincipalId, Seq, TenantId};
use futures::stream::BoxStream;

/// A hint. Whoever misses one loses nothing that matters: the log tells of every change, and what
/// is not in the log is of the moment alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// A tenant's log has grown.
    Grew {
        /// Whose log.
        tenant: TenantId,
        /// A position that it has reached.
        head: Seq,
    },
    /// Somebody types in a conversation, or stops.
    Typing {
        /// Whose data.
        tenant: TenantId,
        /// Where.
        conversation_id: ConversationId,
        /// Who answers there.
        agent_id: AgentId,
        /// Whose conversation it is.
        user_id: Option<String>,
        /// Who.
        actor: PrincipalId,
        /// Through which connection: it is not told what it told itself.
        connection_id: String,
        /// Whether they type.
        typing: bool,
    },
}

/// Tells all nodes that something is to be looked at: at most once, in no promised order.
pub trait EventBus: Send + Sync {
    /// Tells every node, this one included. MUST return at once and never fail: what cannot be
    /// sent now is dropped.
    fn publish(&self, signal: Signal);

    /// Signals from now on, those of this node included. MUST end when the bus is closed. A
    /// subscriber that is too slow loses the oldest, never delays others.
    fn subscribe(&self) -> BoxStream<'static, Signal>;
}
