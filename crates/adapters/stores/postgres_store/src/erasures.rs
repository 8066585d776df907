//! Erasures of the data of users.

use relational::repositories::ErasureSql;

use crate::PostgresStore;

impl ErasureSql for PostgresStore {
    const EXPEDITE_CONVERSATIONS: &'static str = "update conversations set deleted_at = to_timestamp(0) \
        where tenant_id = $1 and id > $2 and id <= $3 and deleted_at is not null \
            and user_id = $4 and $5 <> $6";
}
