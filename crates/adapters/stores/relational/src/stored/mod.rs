//! Rows as they are stored, and their conversion to domain types. They read the columns of any
//! database: times as [`StoredTime`](crate::column::StoredTime), JSON as [`Json`](sqlx::types::Json).

mod agent;
mod conversation;
mod credential;
mod entry;
mod event;
pub mod facts;
mod feedback;
mod file;
mod history;
mod idempotency;
mod message;
mod node;
mod note;
mod proof;
mod signing_key;
mod tenant;
mod text;
mod turn;
mod user;

pub use agent::{StoredAgent, StoredAgentVersion, VersionContent};
pub use conversation::{StoredConversation, StoredState};
pub use credential::StoredCredential;
pub use entry::FoundEntry;
pub(crate) use event::{EMPTY_LOG, events_with_bounds};
pub use event::{LogColumns, StoredChange, StoredEvent, StoredEventInDoubt, StoredSnapshot};
pub use facts::StoredConversationFacts;
pub use feedback::{StoredFeedback, StoredListedFeedback, StoredMessageFeedback, principal_column};
pub use file::{StoredFileRow, StoredLinkSecret, link_secret};
pub use history::{StoredHistoryMessage, StoredPastTurn};
pub use idempotency::{StoredRecord, StoredRecordWithKey};
pub use message::{StoredFoundMessage, StoredListedMessage, StoredMessage};
pub use node::StoredNode;
pub use note::StoredNote;
pub use proof::ProofColumns;
pub use signing_key::StoredSigningKey;
pub use tenant::StoredTenant;
pub use text::StoredText;
pub use turn::{
    ReplyColumns, ReplyId, StoredOpenTurn, StoredTurn, StoredTurnWithUser, TurnColumns,
};
pub use user::{StoredFoundUser, StoredUser, StoredUserInTenant};
