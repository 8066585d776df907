//! Removal of old events from the beginning of each log.

use relational::LogTrimSql;

use crate::SqliteStore;

relational::statements! {
    const DELETE_SNAPSHOTS: &str =
        "delete from agent_snapshots where tenant_id = ?1 and seq >= ?2 and seq <= ?3";
}

impl LogTrimSql for SqliteStore {
    const TENANTS_TO_TRIM: &'static str = "\
        select id from tenants where ( \
            select e.time from events e where e.tenant_id = tenants.id and e.seq >= first_seq \
            order by e.seq limit 1) < ?1 \
        order by id";

    /// Returns the first event of a log, and the last event before the first one that is recent enough
    /// to stay, within the limit.
    const OLD_EVENTS: &'static str = "\
        with oldest as materialized ( \
            select t.first_seq, e.seq, e.time from tenants t cross join events e \
                on e.tenant_id = t.id and e.seq >= t.first_seq \
            where t.id = ?1 order by e.seq limit ?3) \
        select min(first_seq), coalesce(min(seq) filter (where time >= ?2) - 1, max(seq)) \
        from oldest";

    const DELETE_CONTENT: &'static [&'static str] = STATEMENTS;
}
