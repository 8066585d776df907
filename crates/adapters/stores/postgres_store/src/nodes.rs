//! Nodes. The store's clock is the clock of the database server.

use std::time::Duration;

use domain::{NodeId, RegionName};
use ports::{FarNodeReport, LiveNode, NodeProcess, RepositoryError};
use relational::{read, repositories::NodeSql, stored::StoredNode};
use sqlx::PgConnection;

use crate::{
    PostgresStore,
    error::{conflict_on, from_sqlx},
};

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

const INSERT: &str = concat!(
    "insert into nodes (id, lease_until, version, started_at, level) \
     values ($1, clock_timestamp() + $2 * interval '1 millisecond', $3, \
         clock_timestamp() - $4 * interval '1 millisecond', $5) \
     returning ",
    live_nodes!()
);
const RENEW: &str = concat!(
    "update nodes set lease_until = clock_timestamp() + $2 * interval '1 millisecond' \
     where id = $1 and not swept returning ",
    live_nodes!()
);
const LIST: &str = "\
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
const REPORT_FAR: &str = "\
    with expired as (delete from far_nodes where lease_until < clock_timestamp() and id <> $1) \
    insert into far_nodes (id, region, version, started_at, connected_at, lease_until, level) \
    values ($1, $2, $3, clock_timestamp() - $4 * interval '1 millisecond', \
        clock_timestamp() - $5 * interval '1 millisecond', \
        clock_timestamp() + $6 * interval '1 millisecond', $7) \
    on conflict (id) do update set region = excluded.region, version = excluded.version, \
        started_at = excluded.started_at, connected_at = excluded.connected_at, \
        lease_until = excluded.lease_until, level = excluded.level";
const DELETE: &str = "delete from nodes where id = $1";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, RENEW, LIST, REPORT_FAR, DELETE];

/// Converts a duration to the unit of statements.
pub(crate) fn milliseconds(lease: Duration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX)
}

impl NodeSql for PostgresStore {
    async fn insert_node(
        connection: &mut PgConnection,
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
        connection: &mut PgConnection,
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
        let found = self.connections.fetch_all(sqlx::query(LIST)).await?;
        read::rows("nodes", found, |row: StoredNode| row.try_into())
    }

    async fn delete_node(&self, id: NodeId) -> Result<(), RepositoryError> {
        let delete = sqlx::query(DELETE).bind(id.uuid());
        self.execute(delete, from_sqlx).await.map(drop)
    }
}
