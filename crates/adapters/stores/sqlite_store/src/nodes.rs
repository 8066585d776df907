//! Nodes. The store's clock is the clock of this machine.

use std::time::Duration;

use domain::{NodeId, RegionName};
use ports::{FarNodeReport, LiveNode, NodeProcess, RepositoryError};
use relational::{read, repositories::NodeSql, stored::StoredNode};
use sqlx::SqliteConnection;

use crate::{
    SqliteStore,
    error::{conflict_on, from_sqlx},
};

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

const INSERT: &str = concat!(
    "insert into nodes (id, lease_until, version, started_at, level) values (?1, ",
    now!(),
    " + ?2, ?3, ",
    now!(),
    " - ?4, ?5) returning ",
    live_nodes!()
);
const RENEW: &str = concat!(
    "update nodes set lease_until = ",
    now!(),
    " + ?2 where id = ?1 and swept = 0 returning ",
    live_nodes!()
);
const LIST: &str = concat!(
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
const REPORT_FAR: &str = concat!(
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
const DELETE: &str = "delete from nodes where id = ?1";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, RENEW, LIST, REPORT_FAR, DELETE];

/// Converts a duration to the unit of statements.
pub(crate) fn milliseconds(lease: Duration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX / 2)
}

impl NodeSql for SqliteStore {
    async fn insert_node(
        connection: &mut SqliteConnection,
        id: NodeId,
        process: &NodeProcess,
        lease: Duration,
    ) -> Result<(i64, i32), RepositoryError> {
        let insert = sqlx::query_as(INSERT)
            .bind(id.uuid())
            .bind(milliseconds(lease))
            .bind(&process.version)
            .bind(milliseconds(process.running_for))
            .bind(process.level);
        let inserted = insert.fetch_one(connection).await;
        inserted.map_err(conflict_on("node"))
    }

    async fn renew_lease(
        connection: &mut SqliteConnection,
        id: NodeId,
        lease: Duration,
    ) -> Result<Option<(i64, i32)>, RepositoryError> {
        let renew = sqlx::query_as(RENEW)
            .bind(id.uuid())
            .bind(milliseconds(lease));
        renew.fetch_optional(connection).await.map_err(from_sqlx)
    }

    async fn report_far_node(
        &self,
        region: &RegionName,
        report: &FarNodeReport,
        lease: Duration,
    ) -> Result<(), RepositoryError> {
        let insert = sqlx::query(REPORT_FAR)
            .bind(report.id.uuid())
            .bind(region.as_str())
            .bind(&report.version)
            .bind(milliseconds(report.running_for))
            .bind(report.connected_for.map(milliseconds))
            .bind(milliseconds(lease))
            .bind(report.level);
        self.execute(insert, from_sqlx).await.map(drop)
    }

    async fn live_nodes(&self) -> Result<Vec<LiveNode>, RepositoryError> {
        let found = self.fetch_all(sqlx::query(LIST)).await?;
        read::rows("nodes", found, |row: StoredNode| row.try_into())
    }

    async fn delete_node(&self, id: NodeId) -> Result<(), RepositoryError> {
        let delete = sqlx::query(DELETE).bind(id.uuid());
        self.execute(delete, from_sqlx).await.map(drop)
    }
}
