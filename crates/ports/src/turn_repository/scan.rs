//! Listings of the turns of a tenant.

use std::collections::BTreeMap;

use domain::{AgentReach, Listed, Rating, Seq, Timestamp, Turn, TurnId};
use serde::{Deserialize, Serialize};

use super::TurnFilter;

/// The person, or page, whose answer a tool call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// The user's, or that of a page.
    User,
    /// The decision of staff.
    Staff,
}

/// Conditions on turns; members that are set must all hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnConditions {
    /// Only turns with a call that waits for this answer.
    pub waiting_for: Option<WaitingFor>,
    /// Only turns of this status.
    pub status: TurnFilter,
    /// Only turns of these agents.
    pub agents: AgentReach,
    /// Only turns of conversations of this user.
    pub user_id: Option<String>,
    /// Only turns that were created at this time or later.
    pub from: Option<Timestamp>,
    /// Only turns that were created before this time.
    pub to: Option<Timestamp>,
    /// Only turns with these pairs in their metadata.
    pub metadata: BTreeMap<String, String>,
    /// Only turns whose reply is rated so.
    pub rating: Option<Rating>,
    /// True if only what the user of the conversation sees counts: neither calls that are hidden from users
    /// nor the ratings of others.
    pub as_user: bool,
}

/// A request for one page of the turns that meet conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnScan {
    /// The conditions.
    pub conditions: TurnConditions,
    /// The position of the turn before which the page starts; `None` for the newest.
    pub before: Option<TurnPosition>,
    /// The maximum number of turns.
    pub limit: usize,
}

/// The position of a turn in the listings of its tenant: turns with waiting calls are sorted by `sort_seq`, all
/// turns by their ids, which begin with the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnPosition {
    /// The sort key.
    pub sort_seq: Seq,
    /// The turn.
    pub id: TurnId,
}

/// A page of a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScannedTurns {
    /// The turns.
    pub items: Vec<Listed<Turn>>,
    /// The position before which the next page starts; `None` if there is none.
    pub next: Option<TurnPosition>,
}
