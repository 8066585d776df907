//! Nodes. The store's clock is the clock of this machine.

use relational::repositories::NodeSql;

use crate::SqliteStore;

/// The number of other nodes that are not marked as dead, and the node ?1, whose level is the column
/// `level`; and the lowest level of these and of the nodes of far regions.
macro_rules! live_nodes {
    () => {
        concat!(
            "1 + (select count(*) from nodes where id <> ?1 and swept = 0), \
             min(coalesce(level, 0), \
                 coalesce((select min(coalesce(level, 0)) from nodes \
                     where id <> ?1 and swept = 0), level, 0), \
                 coalesce((select min(coalesce(level, 0)) from far_nodes \
                     where lease_until > ",
            now!(),
            "), level, 0))"
        )
    };
}

impl NodeSql for SqliteStore {
    const INSERT: &'static str = concat!(
        "insert into nodes (id, lease_until, version, started_at, level) values (?1, ",
        now!(),
        " + ?2, ?3, ",
        now!(),
        " - ?4, ?5) returning ",
        live_nodes!()
    );

    const RENEW: &'static str = concat!(
        "update nodes set lease_until = ",
        now!(),
        " + ?2 where id = ?1 and swept = 0 returning ",
        live_nodes!()
    );

    const LIST: &'static str = concat!(
        "select id, version, started_at, level, lease_until, lease_until - t.now as lease_left, \
             (select count(*) from turns r where r.node_id = nodes.id and r.status = 'in_progress') \
                 as running_turns, null as region, null as connected_at \
         from nodes cross join (select ",
        now!(),
        " as now) t where swept = 0 and lease_until > t.now \
         union all \
         select id, version, started_at, level, lease_until, lease_until - t.now, 0, region, \
             connected_at \
         from far_nodes cross join (select ",
        now!(),
        " as now) t where lease_until > t.now order by id"
    );

    const REPORT_FAR: &'static str = concat!(
        "insert into far_nodes (id, region, version, started_at, connected_at, lease_until, level) \
         values (?1, ?2, ?3, ",
        now!(),
        " - ?4, ",
        now!(),
        " - ?5, ",
        now!(),
        " + ?6, ?7) \
         on conflict (id) do update set region = excluded.region, version = excluded.version, \
             started_at = excluded.started_at, connected_at = excluded.connected_at, \
             lease_until = excluded.lease_until, level = excluded.level"
    );
}
