//! The conditions under which a planned batch is written: the facts on which it was decided hold.
//!
//! Nodes, keys, credentials and names are read as they were before a wait for the lock of a tenant. That is
//! the same for keys of turns, agents and conversations and for names, which change together with the head.
//! Nodes are marked dead without the lock, an inserted key or credential that exists is rejected, and a
//! revoked credential is not revoked again.

use domain::NodeId;
use relational::PlannedBatch;

use crate::{cte_batch::CteBatch, fragments::unnest};

/// Locks the tenants in the order of their ids, as in [`crate::facts`]. After a wait the head is compared
/// again.
const UNCHANGED_TENANTS: &str = concat!(
    "unchanged as materialized (select t.id from ",
    unnest!(1 text, 2 bigint),
    " as n (tenant, head) \
        join tenants t on t.id = n.tenant and t.head_seq = n.head order by t.id for update of t)"
);
const HEADS_ARE_CURRENT: &str = "(select count(*) from unchanged) = $3";
const NODES_ARE_LIVE: &str =
    "(select count(*) from nodes where id = any($1::uuid[]) and not swept) = cardinality($1)";
const KEYS_ARE_UNUSED: &str = concat!(
    "not exists (select from ",
    unnest!(1 text, 2 text, 3 text, 4 text),
    " as q (tenant, principal, operation, key) \
        join idempotency_records r on r.tenant_id = q.tenant \
            and r.principal = q.principal and r.operation = q.operation and r.key = q.key)"
);
const CREDENTIALS_ARE_VALID: &str = concat!(
    "not exists (select from ",
    unnest!(1 text, 2 text, 3 text),
    " as q (id, tenant, kind) \
        where not exists (select from credentials c where c.id = q.id \
            and c.tenant_id is not distinct from q.tenant and c.kind = q.kind \
            and c.revoked_at is null))"
);
const NAMES_ARE_UNUSED: &str = concat!(
    "not exists (select from ",
    unnest!(1 text, 2 uuid, 3 text, 4 text),
    " as q (tenant, agent, owner, key) where exists (select from conversations c \
        where c.tenant_id = q.tenant and c.agent_id = q.agent \
            and coalesce(c.user_id, '') = q.owner and c.key = q.key and c.deleted_at is null))"
);

/// Returns a batch without statements. Those added to it change nothing unless the facts of `planned` hold.
pub(super) fn conditional_batch(planned: &PlannedBatch) -> CteBatch {
    let PlannedBatch { query, facts, .. } = planned;
    let heads: Vec<_> = facts.heads.iter().collect();
    let heads = heads.as_slice();
    let mut batch = CteBatch::conditional(
        UNCHANGED_TENANTS,
        HEADS_ARE_CURRENT,
        heads,
        |parameters, heads| {
            parameters
                .column(heads, |(tenant, _)| tenant.as_str())
                .column(heads, |(_, head)| head.0)
                .bind(i64::try_from(heads.len()).unwrap_or(i64::MAX))
        },
    );
    let nodes: Vec<_> = query.nodes.iter().copied().map(NodeId::uuid).collect();
    batch.require(NODES_ARE_LIVE, &nodes, |parameters, nodes| {
        parameters.bind(nodes)
    });
    batch.require(KEYS_ARE_UNUSED, &query.idempotency, |parameters, keys| {
        parameters
            .column(keys, |key| key.tenant.as_str())
            .column(keys, |key| key.principal.as_str())
            .column(keys, |key| &key.operation)
            .column(keys, |key| &key.key)
    });
    let credentials: Vec<_> = facts.credentials.iter().collect();
    batch.require(CREDENTIALS_ARE_VALID, &credentials, |parameters, rows| {
        parameters
            .column(rows, |(id, _)| id.as_str())
            .column(rows, |(_, facts)| facts.tenant.as_str())
            .column(rows, |(_, facts)| facts.kind.as_str())
    });
    batch.require(NAMES_ARE_UNUSED, &query.names, |parameters, names| {
        parameters
            .column(names, |(tenant, _)| tenant.as_str())
            .column(names, |(_, name)| name.agent_id.uuid())
            .column(names, |(_, name)| {
                name.user_id.as_deref().unwrap_or_default()
            })
            .column(names, |(_, name)| name.key.as_str())
    });
    batch
}
