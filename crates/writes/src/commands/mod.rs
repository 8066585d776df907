//! The commands, one per file, and what several of them share.

mod answer_turn;
mod begin_turn;
mod cancel_turn;
mod change_staff_message;
mod claim_key;
mod completed_turn;
mod continuation;
mod create_agent;
mod create_conversation;
mod create_credential;
mod create_files;
mod create_note;
mod delete_agent;
mod delete_conversation;
mod delete_file;
mod delete_note;
mod dismissal;
mod ending;
mod erase_user;
mod fail_queued_turn;
mod file_uses;
mod finish_turn;
mod in_doubt;
mod new_turn;
mod open_turns;
mod promotion;
mod rate_message;
mod record_steps;
mod release_turn;
mod resumption;
mod revoke_credential;
mod save_user;
mod suspend_turn;
mod sweep;
mod title_conversation;
mod turn_admission;
mod update_agent;
mod update_conversation;
mod update_credential;
mod write_staff_message;

use ports::RepositoryError;

pub use self::{
    answer_turn::{AnswerOutcome, AnswerRejection, AnswerTurn, CallAnswer, MayAnswer, NotStaff},
    cancel_turn::CancelTurn,
    change_staff_message::{ChangeStaffMessage, StaffMessageChange},
    claim_key::{ClaimKey, ClaimOutcome},
    create_agent::CreateAgent,
    create_conversation::CreateConversation,
    create_credential::CreateCredential,
    create_files::{CreateFiles, CreateFilesOutcome},
    create_note::{CreateNote, CreateNoteOutcome},
    delete_agent::DeleteAgent,
    delete_conversation::DeleteConversation,
    delete_file::{DeleteFile, DeleteFileOutcome},
    delete_note::DeleteNote,
    erase_user::{BeginErasure, EndErasure},
    fail_queued_turn::FailQueuedTurn,
    rate_message::{RateMessage, RateOutcome, Rater},
    record_steps::{RecordSteps, RecordStepsOutcome},
    release_turn::ReleaseTurn,
    revoke_credential::RevokeCredential,
    save_user::{SaveUser, SavedUser, UserChange, UserRejection},
    suspend_turn::{SuspendOutcome, SuspendTurn},
    sweep::{Sweep, SweepOutcome, UndecidedCall},
    title_conversation::TitleConversation,
    update_agent::UpdateAgent,
    update_conversation::UpdateConversation,
    update_credential::UpdateCredential,
    write_staff_message::{StaffMessageOutcome, WriteStaffMessage},
};

/// The size of the largest agent that is written together with others. A larger one takes the
/// database many milliseconds, for which the writes of other tenants must not wait.
const MAX_GROUPED_BYTES: usize = 32 * 1024;

/// Checks the version that a caller expects of an entity: `Stale` if the stored one differs.
fn check_version(
    what: &'static str,
    stored: i64,
    expected: Option<i64>,
) -> Result<(), RepositoryError> {
    if expected.is_some_and(|expected| expected != stored) {
        return Err(RepositoryError::Stale { what });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
