//! Removal of old events from the beginning of each log.

use relational::LogTrimSql;

use crate::PostgresStore;

impl LogTrimSql for PostgresStore {
    const TENANTS_TO_TRIM: &'static str = "\
        select t.id from tenants t cross join lateral ( \
            select e.time from events e where e.tenant_id = t.id and e.seq >= t.first_seq \
            order by e.seq limit 1) e \
        where e.time < $1 order by t.id";

    /// Returns the first event of a log, and the last event before the first one that is recent enough
    /// to stay, within the limit.
    const OLD_EVENTS: &'static str = "\
        select min(t.first_seq), coalesce(min(e.seq) filter (where e.time >= $2) - 1, max(e.seq)) \
        from tenants t cross join lateral ( \
            select e.seq, e.time from events e where e.tenant_id = t.id and e.seq >= t.first_seq \
            order by e.seq limit $3) e \
        where t.id = $1";

    const DELETE_CONTENT: &'static [&'static str] = &[];
}
