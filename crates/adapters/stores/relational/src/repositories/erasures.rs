//! Erasures of the data of users.

use async_trait::async_trait;
use domain::{
    ErasureId, TenantId, Timestamp,
    erasure::{ERASED_AT, ERASED_PRINCIPAL, ErasureCounts, erased_user, principals_of},
};
use ports::{ErasureRepository, PendingErasure, RepositoryError};
use uuid::Uuid;

use super::Repositories;
use crate::{
    Parameter, Store,
    column::StoredTime,
    parameters,
    read::{self, ReadAs},
    statements,
};

/// The number of rows of a table that one transaction looks at.
const CHUNK: i64 = 2_000;

/// The columns of counts that may be unknown.
type Counts = (Option<i64>, Option<i64>);

statements! {
    const PENDING: &str = "select id, user_id from erasures where tenant_id = $1";

    const COUNTED: &str =
        "select conversations, messages from erasures where tenant_id = $1 and id = $2";

    const COUNT: &str = "\
        update erasures set \
            conversations = (select count(*) from conversations c \
                where c.tenant_id = $1 and c.user_id = $3 and c.deleted_at is null), \
            messages = (select cast(coalesce(sum(c.message_count - c.superseded_count), 0) as bigint) \
                from conversations c \
                where c.tenant_id = $1 and c.user_id = $3 and c.deleted_at is null) \
        where tenant_id = $1 and id = $2 and conversations is null";

    const EVENTS: &str = "select seq from (select seq from events where tenant_id = $1 and seq > $2 \
        order by seq limit $3) k order by seq desc limit 1";

    const ANONYMIZE_EVENTS: &str = "\
        update events set user_id = nullif(user_id, $7), \
            actor = case when actor in ($4, $5) then $6 else actor end, \
            data = case when data -> 'moved' ->> 'from' = $7 then null else data end \
        where tenant_id = $1 and seq > $2 and seq <= $3 \
            and (user_id = $7 or actor in ($4, $5) or data -> 'moved' ->> 'from' = $7)";

    const TURNS: &str = "select id from (select id from turns where tenant_id = $1 and id > $2 \
        order by id limit $3) k order by id desc limit 1";

    const ANONYMIZE_TURNS: &str = "update turns set principal = $6 \
        where tenant_id = $1 and id > $2 and id <= $3 and principal in ($4, $5)";

    const USAGE: &str = "select turn_id from (select turn_id from usage_entries \
        where tenant_id = $1 and turn_id > $2 order by turn_id limit $3) k order by turn_id desc limit 1";

    const ANONYMIZE_USAGE: &str = "\
        update usage_entries set user_id = nullif(user_id, $7), \
            principal = case when principal in ($4, $5) then $6 else principal end \
        where tenant_id = $1 and turn_id > $2 and turn_id <= $3 \
            and (user_id = $7 or principal in ($4, $5))";

    const FILES: &str = "select id from (select id from files where tenant_id = $1 and id > $2 \
        order by id limit $3) k order by id desc limit 1";

    /// Files that nothing uses are deleted by the next purge.
    const ANONYMIZE_FILES: &str = "update files set principal = $6, \
            expires_at = case when expires_at is null then expires_at else $7 end \
        where tenant_id = $1 and id > $2 and id <= $3 and principal in ($4, $5)";

    const AGENT_VERSIONS: &str = "select agent_id from (select agent_id from agent_versions \
        where tenant_id = $1 and agent_id > $2 order by agent_id limit $3) k order by agent_id desc limit 1";

    const ANONYMIZE_AGENT_VERSIONS: &str = "update agent_versions set actor = $6 \
        where tenant_id = $1 and agent_id > $2 and agent_id <= $3 and actor in ($4, $5)";

    const DELETED_CONVERSATIONS: &str = "select id from (select id from conversations \
        where tenant_id = $1 and id > $2 order by id limit $3) k order by id desc limit 1";

    const ERASE_DELETED_CONVERSATIONS: &str = "update conversations set deleted_at = $5 \
        where tenant_id = $1 and id > $2 and id <= $3 and user_id = $4 \
            and (deleted_at is not null or (select a.deleted_at from agents a \
                where a.tenant_id = $1 and a.id = conversations.agent_id) is not null)";

    /// Records of all tenants, because their index begins with the time.
    const RECORDS: &str = "select created_at from (select created_at from idempotency_records \
        where created_at > $2 and cast($1 as text) <> '' order by created_at limit $3) k \
        order by created_at desc limit 1";

    /// First responses that contain a conversation of the user. The tenant is no part of the index of the time.
    const DELETE_RECORDS_ABOUT_USER: &str = "delete from idempotency_records \
        where created_at > $2 and created_at <= $3 and coalesce(tenant_id, '') = $1 \
            and answer ->> 'userId' = $4";

    const DELETE_RECORDS: &str =
        "delete from idempotency_records where tenant_id = $1 and principal in ($2, $3)";

    const DELETE_UPLOADS: &str =
        "delete from uploads where tenant_id = $1 and principal in ($2, $3)";

    const KEEP_GENERATION: &str = "\
        insert into user_token_generations (tenant_id, user_id, generation, ends_at) \
        select tenant_id, $3, generation, $4 from user_token_generations \
            where tenant_id = $1 and user_id = $2 \
        on conflict (tenant_id, user_id) \
            do update set generation = excluded.generation, ends_at = excluded.ends_at";

    const DELETE_GENERATION: &str =
        "delete from user_token_generations where tenant_id = $1 and user_id = $2";
}

/// A store whose rows can be read as those of erasures.
pub trait ErasureSql:
    Store<
    Row: ReadAs<(Uuid, String)>
             + ReadAs<Counts>
             + ReadAs<(i64,)>
             + ReadAs<(Uuid,)>
             + ReadAs<(StoredTime,)>,
>
{
}

impl<S> ErasureSql for S where
    S: Store<
        Row: ReadAs<(Uuid, String)>
                 + ReadAs<Counts>
                 + ReadAs<(i64,)>
                 + ReadAs<(Uuid,)>
                 + ReadAs<(StoredTime,)>,
    >
{
}

#[async_trait]
impl<S: ErasureSql> ErasureRepository for Repositories<S> {
    async fn pending(&self, tenant: &TenantId) -> Result<Vec<PendingErasure>, RepositoryError> {
        let rows = self.0.fetch_own(PENDING, parameters![tenant]).await?;
        read::rows("erasures", rows, |(id, user_id): (Uuid, String)| {
            let id = ErasureId::new(id);
            Ok(PendingErasure { id, user_id })
        })
    }

    async fn count(
        &self,
        tenant: &TenantId,
        erasure: &PendingErasure,
    ) -> Result<ErasureCounts, RepositoryError> {
        let parameters = parameters![tenant, erasure.id, erasure.user_id.as_str()];
        self.0.execute(COUNT, parameters).await?;
        let row = self.0.fetch_own(COUNTED, &parameters[..2]).await?;
        let counted = read::one("erasures", row.into_iter().next(), Ok)?;
        let (conversations, messages): Counts = counted.unwrap_or_default();
        Ok(ErasureCounts {
            conversations: conversations.unwrap_or_default(),
            messages: messages.unwrap_or_default(),
        })
    }

    async fn anonymize(
        &self,
        tenant: &TenantId,
        user_id: &str,
        tokens_end_at: Timestamp,
    ) -> Result<(), RepositoryError> {
        let [own, external] = principals_of(user_id);
        let principals = [own.as_str(), external.as_str(), ERASED_PRINCIPAL].map(Parameter::from);
        let [own, external, erased] = principals;
        let with_user = [own, external, erased, user_id.into()];
        let store = &self.0;
        let scan = Scan { store, tenant };
        scan.by_number(EVENTS, ANONYMIZE_EVENTS, &with_user).await?;
        scan.by_id(TURNS, ANONYMIZE_TURNS, &principals).await?;
        scan.by_id(USAGE, ANONYMIZE_USAGE, &with_user).await?;
        let with_time = [own, external, erased, ERASED_AT.into()];
        scan.by_id(FILES, ANONYMIZE_FILES, &with_time).await?;
        let change = ANONYMIZE_AGENT_VERSIONS;
        scan.by_id(AGENT_VERSIONS, change, &principals).await?;
        let (change, at) = (
            ERASE_DELETED_CONVERSATIONS,
            [user_id.into(), ERASED_AT.into()],
        );
        scan.by_id(DELETED_CONVERSATIONS, change, &at).await?;
        let change = DELETE_RECORDS_ABOUT_USER;
        scan.by_time(RECORDS, change, &[user_id.into()]).await?;
        let parameters = [tenant.into(), own, external];
        store.execute(DELETE_RECORDS, &parameters).await?;
        store.execute(DELETE_UPLOADS, &parameters).await?;
        keep_generation(store, tenant, user_id, tokens_end_at).await
    }
}

/// Keeps the generation of the tokens of a user under a digest.
async fn keep_generation<S: Store>(
    store: &S,
    tenant: &TenantId,
    user_id: &str,
    tokens_end_at: Timestamp,
) -> Result<(), RepositoryError> {
    let (tenant, user_id) = (tenant.clone(), user_id.to_owned());
    let keep = store.transaction(move |connection| {
        Box::pin(async move {
            let erased = erased_user(&tenant, &user_id);
            let parameters = parameters![&tenant, user_id.as_str(), erased.as_str(), tokens_end_at];
            S::execute_in(connection, KEEP_GENERATION, parameters).await?;
            S::execute_in(connection, DELETE_GENERATION, &parameters[..2]).await?;
            Ok(())
        })
    });
    keep.await
}

/// Changes rows of a tenant chunk by chunk, in the order of a key.
struct Scan<'a, S> {
    store: &'a S,
    tenant: &'a TenantId,
}

impl<S: ErasureSql> Scan<'_, S> {
    /// Runs `change` on chunks of a table with a number as its key. `last_of_chunk` finds the last key of the chunk
    /// after 2.
    async fn by_number(
        &self,
        last_of_chunk: &'static str,
        change: &'static str,
        values: &[Parameter<'_>],
    ) -> Result<(), RepositoryError> {
        let mut after = 0;
        while let Some((last,)) = self.chunk::<(i64,)>(last_of_chunk, after.into()).await? {
            let range = [after.into(), last.into()];
            self.change(change, range, values).await?;
            after = last;
        }
        Ok(())
    }

    /// The same for a table with an id as its key.
    async fn by_id(
        &self,
        last_of_chunk: &'static str,
        change: &'static str,
        values: &[Parameter<'_>],
    ) -> Result<(), RepositoryError> {
        let mut after = Uuid::nil();
        while let Some((last,)) = self.chunk::<(Uuid,)>(last_of_chunk, after.into()).await? {
            let range = [after.into(), last.into()];
            self.change(change, range, values).await?;
            after = last;
        }
        Ok(())
    }

    /// The same for a table in the order of a time.
    async fn by_time(
        &self,
        last_of_chunk: &'static str,
        change: &'static str,
        values: &[Parameter<'_>],
    ) -> Result<(), RepositoryError> {
        let mut after = Timestamp::from_milliseconds(0);
        while let Some((StoredTime(last),)) = self.chunk(last_of_chunk, after.into()).await? {
            let range = [after.into(), last.into()];
            self.change(change, range, values).await?;
            after = last;
        }
        Ok(())
    }

    /// Returns the last key of the next chunk, if rows are left.
    async fn chunk<K>(
        &self,
        statement: &'static str,
        after: Parameter<'_>,
    ) -> Result<Option<K>, RepositoryError>
    where
        S: Store<Row: ReadAs<K>>,
    {
        let parameters = [self.tenant.into(), after, CHUNK.into()];
        let rows = self.store.fetch_own(statement, &parameters).await?;
        read::one("a chunk", rows.into_iter().next(), Ok)
    }

    async fn change(
        &self,
        statement: &'static str,
        [after, last]: [Parameter<'_>; 2],
        values: &[Parameter<'_>],
    ) -> Result<u64, RepositoryError> {
        let mut parameters = vec![self.tenant.into(), after, last];
        parameters.extend_from_slice(values);
        self.store.execute(statement, &parameters).await
    }
}
