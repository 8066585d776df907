//! API keys and OAuth clients.

use domain::{Credential, CredentialId, Timestamp};
use ports::{RepositoryError, ShowKey};
use relational::{
    credential_columns, page_budget,
    repositories::{self, CredentialSql},
};
use sqlx::types::Json;

use crate::SqliteStore;

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

/// Replaces the proof of a credential with another of the same kind, unless the credential is
/// revoked, and returns the credential.
macro_rules! rotate {
    ($columns:literal, $condition:literal) => {
        concat!(
            "update credentials set ",
            $columns,
            " where tenant_id = ?1 and id = ?2 and kind = ?3 and revoked_at is null and ",
            $condition,
            " returning ",
            credential_columns!()
        )
    };
}

relational::statements! {
    const TOUCH: &str = "\
        update credentials set last_used_at = used.at \
        from (select value ->> 0 as id, max(value ->> 1) as at from json_each(?1) group by 1) as used \
        where credentials.id = used.id and coalesce(credentials.last_used_at < used.at, true)";
}

impl CredentialSql for SqliteStore {
    type Texts = Json<Vec<String>>;

    const FIND: &'static str = select!("where id = ?1 and kind = ?2");

    const LIST: &'static str = concat!(
        "select p.place_in_list as sort_seq, p.total, ",
        credential_columns!(),
        " from ",
        page_budget!(
            "select rowid as credential, sort_seq as place_in_list, octet_length(allowed_origins) \
             + coalesce(octet_length(key_set), 0) as bytes from credentials \
             where tenant_id = ?1 and kind = ?2 and sort_seq < ?3 \
             order by sort_seq desc limit ?4",
            "place_in_list desc"
        ),
        " p cross join credentials c on c.rowid = p.credential order by p.place"
    );

    const ROTATE_SECRET: &'static str = rotate!(
        "previous_digest = case when ?6 is not null then digest end, \
         previous_until = ?6, digest = ?4, last4 = ?5",
        "digest is not null"
    );

    const ROTATE_KEYS: &'static str = rotate!("key_set = ?4, key_set_url = ?5", "digest is null");

    async fn insert_first_key(
        &self,
        key: &Credential,
        show: ShowKey,
    ) -> Result<bool, RepositoryError> {
        // The lock file excludes other server processes.
        let _one_at_a_time = self.first_key.lock().await;
        repositories::insert_first_key(self, key, show).await
    }

    async fn touch_credentials(
        &self,
        used: &[(CredentialId, Timestamp)],
    ) -> Result<(), RepositoryError> {
        let used = used.iter().map(|(id, at)| (id, at.milliseconds()));
        let touch = sqlx::query(TOUCH).bind(Json(used.collect::<Vec<_>>()));
        self.execute_query(touch).await.map(drop)
    }
}
