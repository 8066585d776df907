//! Notes of staff.

use async_trait::async_trait;
use domain::{ConversationId, Listed, Note, NoteId, Page, Seq, TenantId};
use ports::{NoteRepository, RepositoryError};

use super::Repositories;
use crate::{
    Store, page_budget, parameters,
    read::{self, ListedRow, ReadAs},
    statements,
    stored::StoredNote,
};

/// The condition that the conversation 2 exists. It is read by its key, whatever other indexes there are.
macro_rules! exists {
    () => {
        "(select c.deleted_at is null from conversations c where c.tenant_id = $1 and c.id = $2)"
    };
}

statements! {
    const FIND: &str = concat!(
        "select n.id, n.conversation_id, n.content, n.files, n.author, n.created_at \
         from conversation_notes n \
         where n.tenant_id = $1 and n.conversation_id = $2 and n.id = $3 and ",
        exists!()
    );

    const LIST: &str = concat!(
        "select n.sort_seq, n.total, n.id, n.conversation_id, n.content, n.files, n.author, n.created_at \
         from ",
        page_budget!(
            concat!(
                "select *, octet_length(content) + coalesce(octet_length(cast(files as text)), 0) as bytes \
                 from conversation_notes \
                 where tenant_id = $1 and conversation_id = $2 and sort_seq < $3 and ",
                exists!(),
                " order by sort_seq desc limit $4"
            ),
            "sort_seq desc"
        ),
        " n order by n.place"
    );
}

#[async_trait]
impl<S> NoteRepository for Repositories<S>
where
    S: Store<Row: ReadAs<StoredNote> + ReadAs<ListedRow<StoredNote>>>,
{
    async fn find(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        id: NoteId,
    ) -> Result<Option<Note>, RepositoryError> {
        let parameters = parameters![tenant, conversation, id];
        let found = self.0.fetch_optional(FIND, parameters).await?;
        read::one(
            "conversation_notes",
            found,
            |row: StoredNote| Ok(row.into()),
        )
    }

    async fn list(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<Note>>, RepositoryError> {
        let before = after.map_or(i64::MAX, |after| after.0);
        let limit_of_rows = page_budget::one_more(limit);
        let parameters = parameters![tenant, conversation, before, limit_of_rows];
        let rows = self.0.fetch_all(LIST, parameters).await?;
        read::listing("conversation_notes", rows, limit, |row: StoredNote| {
            Ok(row.into())
        })
    }
}
