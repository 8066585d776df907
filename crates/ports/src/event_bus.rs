//! Fast notifications between all nodes.

use domain::{
    AgentId, ConversationId, NodeId, PrincipalId, Seq, ShowReasoning, TenantId, ToolCall, TurnId,
    tool_call::json_bytes,
};
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

/// A hint that something happened. A lost signal does no harm: the log contains every change, and
/// live data that is not in the log matters only at its moment. Nodes of different versions exchange
/// the serialised form: a node ignores the types and members that it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
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
    /// A node has readers of live replies, for the next 15 seconds. The nodes that run turns of
    /// these conversations send the parts of their replies.
    RepliesRequested {
        /// The tenant of the conversations.
        tenant: TenantId,
        /// The conversations; all conversations of the tenant if absent.
        conversations: Option<Vec<ConversationId>>,
        /// The node of the readers.
        node: NodeId,
        /// True if the parts so far are wanted too: the readers are new, or parts were lost.
        from_start: bool,
    },
    /// A part of a reply in progress.
    ReplyPart {
        /// The tenant of the turn.
        tenant: TenantId,
        /// The conversation of the turn.
        conversation_id: ConversationId,
        /// The turn.
        turn_id: TurnId,
        /// The node that runs the turn.
        node: NodeId,
        /// The number of times that the turn was resumed. The parts of a higher one replace all others.
        #[serde(default, skip_serializing_if = "is_zero")]
        resumptions: u32,
        /// The part.
        part: ReplyPart,
    },
    /// A turn is to be cancelled by the node that runs it, which has its text.
    CancellationRequested {
        /// The tenant of the turn.
        tenant: TenantId,
        /// The turn.
        turn_id: TurnId,
        /// The principal that cancels the turn.
        actor: PrincipalId,
    },
    /// Credentials were revoked or changed: every node reads the access version at once.
    AccessChanged,
    /// A circuit breaker of a reply engine has opened at a node.
    BreakerOpened(BreakerName),
    /// A node has registered in the store.
    NodeJoined,
    /// For the next 15 seconds, a node receives signals only through the bus that replaces another one
    /// when it fails. The nodes that use the other one publish on both.
    FallbackRequested,
    /// Signals of other nodes may have been lost: the connection to them was interrupted. Delivered
    /// by the bus of this node, never sent.
    SignalsLost,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires the reference"
)]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Signal {
    /// The tenant that the signal is about; `None` if it concerns all.
    pub const fn tenant(&self) -> Option<&TenantId> {
        match self {
            Self::LogAppended { tenant, .. }
            | Self::Typing { tenant, .. }
            | Self::RepliesRequested { tenant, .. }
            | Self::ReplyPart { tenant, .. }
            | Self::CancellationRequested { tenant, .. } => Some(tenant),
            Self::NodeJoined
            | Self::FallbackRequested
            | Self::AccessChanged
            | Self::BreakerOpened(_)
            | Self::SignalsLost => None,
        }
    }
}

/// A circuit breaker of a reply engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakerName {
    /// The engine.
    pub engine: String,
    /// The model, unless it is the operator's.
    pub model: Option<String>,
    /// The tenant, unless it is the breaker of all tenants.
    pub tenant: Option<TenantId>,
}

/// A part of a reply. Positions are in bytes of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ReplyPart {
    /// The model's reasoning, which nodes of earlier versions ignore.
    Reasoning {
        /// The length of the reasoning before it.
        from: usize,
        /// The text.
        text: String,
        /// The callers that see it.
        shown_to: ShowReasoning,
    },
    /// Text; empty if the turn has just started.
    Text {
        /// The length of the text before it.
        from: usize,
        /// The text.
        text: String,
    },
    /// The start or the end of a tool call.
    Tool {
        /// The number of tool parts before it.
        index: usize,
        /// The length of the text before it.
        at: usize,
        /// True if this is the end of the call.
        has_ended: bool,
        /// The call so far.
        call: Box<ToolCall>,
    },
}

impl ReplyPart {
    /// Returns the approximate size in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Reasoning { text, .. } | Self::Text { text, .. } => text.len(),
                Self::Tool { call, .. } => json_bytes(call),
            }
    }
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
