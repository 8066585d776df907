//! Nodes. The store's clock is the clock of the database server.

use relational::repositories::NodeSql;

use crate::PostgresStore;

/// The number of other nodes that are not marked as dead, and the node $1, whose level is the column
/// `level`; and the lowest level of these and of the nodes of far regions.
macro_rules! live_nodes {
    () => {
        "1 + (select count(*) from nodes o where o.id <> $1 and not o.swept), \
         least(coalesce(level, 0), \
             (select min(coalesce(o.level, 0)) from nodes o where o.id <> $1 and not o.swept), \
             (select min(coalesce(f.level, 0)) from far_nodes f \
                 where f.lease_until > clock_timestamp()))"
    };
}

impl NodeSql for PostgresStore {
    const INSERT: &'static str = concat!(
        "insert into nodes (id, lease_until, version, started_at, level) \
         values ($1, clock_timestamp() + $2 * interval '1 millisecond', $3, \
             clock_timestamp() - $4 * interval '1 millisecond', $5) \
         returning ",
        live_nodes!()
    );

    const RENEW: &'static str = concat!(
        "update nodes set lease_until = clock_timestamp() + $2 * interval '1 millisecond' \
         where id = $1 and not swept returning ",
        live_nodes!()
    );

    const LIST: &'static str = "\
        select n.id, n.version, n.started_at, n.level, n.lease_until, \
            (extract(epoch from n.lease_until - clock_timestamp()) * 1000)::int8 as lease_left, \
            (select count(*) from turns r where r.node_id = n.id and r.status = 'in_progress') \
                as running_turns, \
            null::text as region, null::timestamptz as connected_at \
        from nodes n where not n.swept and n.lease_until > clock_timestamp() \
        union all \
        select id, version, started_at, level, lease_until, \
            (extract(epoch from lease_until - clock_timestamp()) * 1000)::int8, 0, region, connected_at \
        from far_nodes where lease_until > clock_timestamp() order by id";

    const REPORT_FAR: &'static str = "\
        with expired as (delete from far_nodes where lease_until < clock_timestamp() and id <> $1) \
        insert into far_nodes (id, region, version, started_at, connected_at, lease_until, level) \
        values ($1, $2, $3, clock_timestamp() - $4 * interval '1 millisecond', \
            clock_timestamp() - $5 * interval '1 millisecond', \
            clock_timestamp() + $6 * interval '1 millisecond', $7) \
        on conflict (id) do update set region = excluded.region, version = excluded.version, \
            started_at = excluded.started_at, connected_at = excluded.connected_at, \
            lease_until = excluded.lease_until, level = excluded.level";
}
