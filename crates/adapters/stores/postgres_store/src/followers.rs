//! Followers of the logs.

use relational::repositories::FollowerSql;

use crate::PostgresStore;

impl FollowerSql for PostgresStore {
    const LEASE: &'static str = "\
        select l.node_id, exists (select 1 from nodes n where n.id = l.node_id and not n.swept \
            and n.lease_until > clock_timestamp()) \
        from follower_leases l where l.follower = $1";
}
