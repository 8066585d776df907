//! A far node with an open stream.

use std::{collections::HashMap, sync::Arc};

use domain::NodeId;
use parking_lot::Mutex;
use ports::Signal;
use uuid::Uuid;

use crate::interest::Interest;

/// The far nodes with an open stream to this process.
pub(crate) type ConnectedNodes = Arc<Mutex<HashMap<Uuid, Arc<ConnectedNode>>>>;

/// A far node with an open stream.
pub(crate) struct ConnectedNode {
    pub(crate) process: Uuid,
    state: Mutex<NodeState>,
}

#[derive(Default)]
struct NodeState {
    /// The signal of this node that is being published, which it does not receive again.
    echo: Option<Signal>,
    /// The live replies that its readers want.
    interest: Interest,
}

impl ConnectedNode {
    pub(crate) fn new(process: Uuid) -> Self {
        Self {
            process,
            state: Mutex::default(),
        }
    }

    /// Calls `publish` with a signal of this node, which the node does not receive meanwhile.
    pub(crate) fn publish(&self, signal: Signal, publish: impl FnOnce(Signal)) {
        self.state.lock().echo = Some(signal.clone());
        publish(signal);
        self.state.lock().echo = None;
    }

    /// Returns true for a signal that the node receives. Records what it requests, also by another
    /// node of the home region.
    pub(crate) fn accepts(&self, signal: &Signal) -> bool {
        match signal {
            Signal::RepliesRequested {
                tenant,
                conversations,
                node,
                ..
            } => {
                if node.uuid() == self.process {
                    let interest = &mut self.state.lock().interest;
                    interest.add(tenant, conversations.as_deref());
                }
                false
            }
            Signal::ReplyPart {
                tenant,
                conversation_id,
                ..
            } => {
                let interest = &self.state.lock().interest;
                interest.includes(tenant, *conversation_id)
            }
            Signal::Typing { .. } => self.state.lock().echo.as_ref() != Some(signal),
            Signal::LogAppended { .. } | Signal::AccessChanged | Signal::SignalsLost => true,
            Signal::CancellationRequested { .. }
            | Signal::BreakerOpened(_)
            | Signal::NodeJoined
            | Signal::FallbackRequested => false,
        }
    }
}

/// Replaces the node of a request by the process that has sent it, by which every node of the home
/// region knows whose readers want the replies.
pub(crate) fn attributed(process: Uuid, signal: Signal) -> Signal {
    match signal {
        Signal::RepliesRequested {
            tenant,
            conversations,
            from_start,
            ..
        } => Signal::RepliesRequested {
            tenant,
            conversations,
            node: NodeId::new(process),
            from_start,
        },
        other => other,
    }
}

/// Removes a node from the list when its stream is dropped.
pub(crate) struct Connected {
    pub(crate) nodes: ConnectedNodes,
    pub(crate) node: Arc<ConnectedNode>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut nodes = self.nodes.lock();
        let process = self.node.process;
        // The node may have opened another stream meanwhile.
        let is_listed = |listed: &Arc<ConnectedNode>| Arc::ptr_eq(listed, &self.node);
        if nodes.get(&process).is_some_and(is_listed) {
            nodes.remove(&process);
        }
    }
}
