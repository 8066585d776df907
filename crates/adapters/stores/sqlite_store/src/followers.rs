//! Followers of the logs.

use relational::repositories::FollowerSql;

use crate::SqliteStore;

impl FollowerSql for SqliteStore {
    const LEASE: &'static str = concat!(
        "select l.node_id, exists (select 1 from nodes n where n.id = l.node_id and n.swept = 0 \
            and n.lease_until > ",
        now!(),
        ") from follower_leases l where l.follower = ?1"
    );
}
