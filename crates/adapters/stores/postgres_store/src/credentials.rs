//! API keys and OAuth clients.

use domain::{Credential, CredentialId, Timestamp};
use ports::{RepositoryError, ShowKey};
use relational::{
    Store as _, credential_columns, page_budget,
    repositories::{self, CredentialSql},
};

use crate::{PostgresStore, error::from_sqlx};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select ",
            credential_columns!(),
            " from credentials ",
            $rest
        )
    };
}

/// One credential of a tenant. `is not distinct from` makes the tenant a filter: with `=`, the
/// planner would prefer the index of listings to the primary key while both are empty.
macro_rules! one {
    () => {
        "id = $2 and kind = $3 and tenant_id is not distinct from $1"
    };
}

/// Replaces the proof of a credential with another of the same kind, unless the credential is
/// revoked, and returns the credential.
macro_rules! rotate {
    ($columns:literal, $condition:literal) => {
        concat!(
            "update credentials set ",
            $columns,
            " where ",
            one!(),
            " and revoked_at is null and ",
            $condition,
            " returning ",
            credential_columns!()
        )
    };
}

relational::statements! {
    /// Updates rows in id order, so that two nodes with the same credentials do not block each other.
    const TOUCH: &str = "\
        with used as materialized ( \
            select c.id, n.at \
            from (select id, max(at) as at from unnest($1::text[], $2::timestamptz[]) as n (id, at) \
                group by id) n \
            join credentials c on c.id = n.id \
            order by c.id for update of c) \
        update credentials set last_used_at = used.at from used \
        where credentials.id = used.id \
            and (credentials.last_used_at is null or credentials.last_used_at < used.at)";

    /// The number is arbitrary and the same in every process.
    const LOCK_FIRST_KEY: &str = "select pg_advisory_xact_lock(7310279084265173)";
}

impl CredentialSql for PostgresStore {
    type Texts = Vec<String>;

    const FIND: &'static str = select!("where id = $1 and kind = $2");

    const LIST: &'static str = concat!(
        "select * from ",
        page_budget!(
            concat!(
                "select sort_seq, octet_length(allowed_origins::text) \
                 + coalesce(octet_length(key_set::text), 0) as bytes, ",
                credential_columns!(),
                " from credentials where tenant_id = $1 and kind = $2 \
                 and sort_seq < $3 order by sort_seq desc limit $4"
            ),
            "sort_seq desc"
        ),
        " credentials order by place"
    );

    const ROTATE_SECRET: &'static str = rotate!(
        "previous_digest = case when $6::timestamptz is not null then digest end, \
         previous_until = $6, digest = $4, last4 = $5",
        "digest is not null"
    );

    const ROTATE_KEYS: &'static str = rotate!("key_set = $4, key_set_url = $5", "digest is null");

    async fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> Result<bool, RepositoryError> {
        let (store, key) = (self.clone(), key.clone());
        self.transaction(move |connection| {
            Box::pin(async move {
                // Other processes wait until the key is recorded or deleted, or until the
                // connection of a process that ended is closed. The steps commit on another
                // connection.
                let locked = sqlx::query(LOCK_FIRST_KEY).execute(connection).await;
                locked.map_err(from_sqlx)?;
                repositories::insert_first_key(&store, &key, show).await
            })
        })
        .await
    }

    async fn touch_credentials(
        &self,
        used: &[(CredentialId, Timestamp)],
    ) -> Result<(), RepositoryError> {
        let (ids, times): (Vec<_>, Vec<_>) = used
            .iter()
            .map(|(id, at)| (id.to_string(), at.date_time()))
            .unzip();
        let touch = sqlx::query(TOUCH).bind(ids).bind(times);
        self.execute_query(touch).await.map(drop)
    }
}
