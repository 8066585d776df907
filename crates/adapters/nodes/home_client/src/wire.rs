//! The lines of the stream from the home region, and of the messages to it.
//!
//! Each line is one JSON object: a message of signals (`single_node::bus::Message`), or a status. Nodes of
//! different versions exchange them, so members and lines that a node does not know are ignored.

use domain::RegionEntry;
use ports::Signal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The path of the stream of signals to a far node.
pub(crate) const STREAM_PATH: &str = "/region/stream";
/// The path to which a far node sends its signals.
pub(crate) const SIGNALS_PATH: &str = "/region/signals";

/// The path to which a far node sends reports about itself.
pub(crate) const NODE_PATH: &str = "/region/node";

/// Returns true for a signal that a far node may send: it changes nothing by itself.
pub(crate) const fn is_sent_home(signal: &Signal) -> bool {
    matches!(
        signal,
        Signal::Typing { .. } | Signal::RepliesRequested { .. }
    )
}

/// The state of the home region, sent every second and before each change of access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HomeReport {
    /// The version of access. A replica with a lower one may still accept revoked credentials.
    pub(crate) access_version: i64,
    /// All regions that have a name.
    #[serde(default)]
    pub(crate) regions: Vec<RegionEntry>,
    /// The random id of the store, which is also that of each replica.
    #[serde(default)]
    pub(crate) store: Option<Uuid>,
}

/// A line about the stream itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "camelCase")]
pub(crate) enum Notice {
    /// Signals were lost before this line.
    SignalsLost,
    /// The node of the home region shuts down.
    Closing,
}

impl Notice {
    /// Returns the line.
    pub(crate) fn line(self) -> String {
        // All members are serialisable.
        let mut line = serde_json::to_string(&self).unwrap_or_default();
        line.push('\n');
        line
    }
}
