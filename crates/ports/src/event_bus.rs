//! Fast notifications between all nodes.

use domain::{AgentId, ConversationId, PrincipalId, Seq, TenantId};
use futures::stream::BoxStream;

/// A hint that something happened. A lost signal does no harm: the log contains every change, and
/// live data that is not in the log matters only at its moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// The log of a tenant has grown.
    LogAppended {
        /// The tenant of the log.
        tenant: TenantId,
        /// A position that the log has reached.
        head: Seq,
    },
    /// A participant of a conversation started or stopped typing.
    Typing {
        /// The tenant of the conversation.
        tenant: TenantId,
        /// The conversation.
        conversation_id: ConversationId,
        /// The agent of the conversation.
        agent_id: AgentId,
        /// The user that the conversation belongs to.
        user_id: Option<String>,
        /// The principal that is typing.
        actor: PrincipalId,
        /// The connection that reported it, which does not receive its own signal.
        connection_id: String,
        /// `true` if typing started, `false` if it stopped.
        typing: bool,
    },
}

/// Selects the signals that a subscriber receives. Publishers call it, so it MUST return at once.
pub type SignalFilter = Box<dyn Fn(&Signal) -> bool + Send + Sync>;

/// A bus that delivers signals to all nodes, at most once and in no guaranteed order.
pub trait EventBus: Send + Sync {
    /// Publishes a signal to every node, this one included. MUST return at once and never fail; a
    /// signal that cannot be sent now is dropped.
    fn publish(&self, signal: Signal);

    /// Returns the signals from now on that pass `filter`, those of this node included. Other
    /// signals do not wake the subscriber. The stream MUST end when the bus is closed. A slow
    /// subscriber loses its oldest signals and MUST NOT delay others.
    fn subscribe(&self, filter: SignalFilter) -> BoxStream<'static, Signal>;
}
