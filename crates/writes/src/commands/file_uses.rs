//! The files of messages and notes, which each belong to one conversation and its forks.

use domain::{ConversationId, FileReference, TenantId, Timestamp};
use ports::{Facts, FactsQuery, write_store::FileUseRow};

use crate::{Part, Planner, UnusableFile};

/// The files of a message or note in a conversation.
#[derive(Clone, Copy)]
pub(super) struct FileUses<'a> {
    pub(super) tenant: &'a TenantId,
    pub(super) conversation: ConversationId,
    pub(super) files: &'a [FileReference],
    /// Staff uses them, also those that are only in notes of the conversation.
    pub(super) is_for_staff: bool,
}

impl FileUses<'_> {
    /// Returns the parts that no other command of its transaction may share.
    pub(super) fn parts(self) -> impl Iterator<Item = Part> {
        self.files.iter().map(|file| Part::File(file.id))
    }

    /// Adds the files.
    pub(super) fn needs(self, query: &mut FactsQuery) {
        let files = self.files.iter();
        let keys = files.map(|file| (self.tenant.clone(), file.id));
        query.files.extend(keys);
    }

    /// Checks that the files exist at `now`, and that no other conversation uses them.
    pub(super) fn check(self, facts: &Facts, now: Timestamp) -> Result<(), UnusableFile> {
        for file in self.files {
            let found = facts.files.get(&(self.tenant.clone(), file.id));
            let found = found.filter(|found| found.expires_at.is_none_or(|at| now < at));
            let found = found.ok_or(UnusableFile::NotFound(file.id))?;
            let is_noted = self.is_for_staff && found.noted_in.contains(&self.conversation);
            let is_own = is_noted || found.used_in.contains(&self.conversation);
            if found.expires_at.is_none() && !is_own {
                return Err(UnusableFile::InUse(file.id));
            }
        }
        Ok(())
    }
}

impl Planner<'_> {
    /// Writes that messages of a conversation use files.
    pub(super) fn use_files(&mut self, uses: FileUses<'_>) {
        let rows = uses.files.iter().map(|file| FileUseRow {
            tenant: uses.tenant.clone(),
            file_id: file.id,
            conversation_id: uses.conversation,
        });
        self.rows.file_uses.extend(rows);
    }
}
