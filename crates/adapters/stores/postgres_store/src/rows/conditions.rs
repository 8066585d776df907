//! The conditions under which a planned batch is written: the facts on which it was decided hold.
//!
//! Nodes, keys, credentials and names are read as they were before a wait for the lock of a tenant, which
//! [`ports::WriteStore::write_if`] permits: a key or credential that exists is rejected when it is inserted,
//! and a revoked credential is not revoked again.

use std::collections::BTreeMap;

use domain::{NodeId, Seq, TenantId};
use ports::{ConditionalRows, Conditions};

use super::log;
use crate::{
    cte_batch::{ConditionSql, CteBatch, Parameters},
    fragments::{runs_on, unnest},
};

/// Locks the tenants in the order of their ids, as in [`crate::facts`]. After a wait the head is compared
/// again, if there is one: the tenants of running turns may have any.
const HEADS_ARE_UNCHANGED: ConditionSql = ConditionSql {
    start: concat!(
        "unchanged as materialized (select t.id from ",
        unnest!(1 text, 2 bigint),
        " as n (tenant, head) \
            join tenants t on t.id = n.tenant and (n.head is null or t.head_seq = n.head) \
            order by t.id for update of t), \
        condition as materialized (select where (select count(*) from unchanged) = $3"
    ),
    end: ")",
};
/// Locks one tenant, compares its head and raises it. With several tenants, some heads could be raised and
/// others not. No part may update `tenants`.
const RAISE_UNCHANGED_HEAD: ConditionSql = ConditionSql {
    start: "condition as (update tenants set head_seq = $3::bigint \
        where id = $1::text and head_seq = $2::bigint",
    end: " returning id)",
};
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
/// Locks the turns, and their tenants before them if [`HEADS_ARE_UNCHANGED`] has not: after a wait, turns
/// that have ended or were given to another node meanwhile are not counted.
const TURNS_ARE_RUNNING: &str = concat!(
    "(select count(*) from (select r.id from ",
    unnest!(1 text, 2 uuid, 3 uuid),
    " as q (tenant, turn, node) join tenants t on t.id = q.tenant \
        join turns r on r.tenant_id = q.tenant and r.id = q.turn and ",
    runs_on!("q.node"),
    " order by t.id, r.id for update of t, r) held) = $4"
);
/// `offset 0` makes the planner look up each name: otherwise it might first read all names of the store.
const NAMES_ARE_UNUSED: &str = concat!(
    "not exists (select from ",
    unnest!(1 text, 2 uuid, 3 text, 4 text),
    " as q (tenant, agent, owner, key) cross join lateral (select from conversations c \
        where c.tenant_id = q.tenant and c.agent_id = q.agent \
            and coalesce(c.user_id, '') = q.owner and c.key = q.key and c.deleted_at is null \
        offset 0) used)"
);

/// Statements that evaluate the conditions of this file.
pub(super) fn statements() -> impl Iterator<Item = String> {
    let heads = [HEADS_ARE_UNCHANGED, RAISE_UNCHANGED_HEAD]
        .map(|ConditionSql { start, end }| format!("with {start}{end} select from condition"));
    let terms = [
        NODES_ARE_LIVE,
        KEYS_ARE_UNUSED,
        CREDENTIALS_ARE_VALID,
        NAMES_ARE_UNUSED,
        TURNS_ARE_RUNNING,
    ];
    let terms = terms.map(|term| format!("select where {term}"));
    heads.into_iter().chain(terms)
}

/// Returns a batch that raises the heads. Neither this nor an added statement changes anything unless the
/// conditions hold.
pub(super) fn conditional_batch(write: &ConditionalRows) -> CteBatch {
    let Conditions {
        heads: _,
        live_nodes,
        unused_keys,
        unused_names,
        valid_credentials,
        running_turns,
    } = &write.conditions;
    let mut batch = batch_on_unchanged_heads(write);
    let nodes: Vec<_> = live_nodes.iter().copied().map(NodeId::uuid).collect();
    batch.require(NODES_ARE_LIVE, &nodes, |parameters, nodes| {
        parameters.bind(nodes)
    });
    batch.require(KEYS_ARE_UNUSED, unused_keys, |parameters, keys| {
        parameters
            .column(keys, |key| key.tenant.as_str())
            .column(keys, |key| key.principal.as_str())
            .column(keys, |key| &key.operation)
            .column(keys, |key| &key.key)
    });
    batch.require(
        CREDENTIALS_ARE_VALID,
        valid_credentials,
        |parameters, keys| {
            parameters
                .column(keys, |key| key.id.as_str())
                .column(keys, |key| key.tenant.as_str())
                .column(keys, |key| key.kind.as_str())
        },
    );
    batch.require(NAMES_ARE_UNUSED, unused_names, |parameters, names| {
        parameters
            .column(names, |(tenant, _)| tenant.as_str())
            .column(names, |(_, name)| name.agent_id.uuid())
            .column(names, |(_, name)| {
                name.user_id.as_deref().unwrap_or_default()
            })
            .column(names, |(_, name)| name.key.as_str())
    });
    batch.require(TURNS_ARE_RUNNING, running_turns, |parameters, turns| {
        let count = i64::try_from(turns.len()).unwrap_or(i64::MAX);
        parameters
            .column(turns, |turn| turn.tenant.as_str())
            .column(turns, |turn| turn.id.uuid())
            .column(turns, |turn| turn.node.uuid())
            .bind(count)
    });
    batch
}

/// Returns the tenants of the conditions, with the heads that they must have, if any. All of them are
/// locked together: two processes that locked those of heads and those of turns one after the other could
/// wait for each other.
fn tenants_to_lock(conditions: &Conditions) -> Vec<(&TenantId, Option<Seq>)> {
    let of_turns = conditions.running_turns.iter();
    let mut tenants: BTreeMap<_, _> = of_turns.map(|turn| (&turn.tenant, None)).collect();
    let heads = conditions.heads.iter();
    tenants.extend(heads.map(|(tenant, head)| (tenant, Some(*head))));
    tenants.into_iter().collect()
}

/// Returns a batch that raises the heads if they are those of the conditions.
fn batch_on_unchanged_heads(write: &ConditionalRows) -> CteBatch {
    let is_single = write.writes == 1;
    let heads = tenants_to_lock(&write.conditions);
    if let ([(tenant, Some(head))], [(raised, new_head)]) =
        (heads.as_slice(), write.rows.heads.as_slice())
        && raised == *tenant
    {
        let bind = |parameters: Parameters, _: &_| {
            parameters
                .bind(tenant.as_str())
                .bind(head.0)
                .bind(new_head.0)
        };
        return CteBatch::conditional(is_single, &RAISE_UNCHANGED_HEAD, &heads, bind);
    }
    let count = i64::try_from(heads.len()).unwrap_or(i64::MAX);
    let bind = |parameters: Parameters, heads| {
        parameters
            .column(heads, |(tenant, _): &(&TenantId, _)| tenant.as_str())
            .column(heads, |(_, head): &(_, Option<Seq>)| {
                head.map(|Seq(seq)| seq)
            })
            .bind(count)
    };
    let mut batch = CteBatch::conditional(is_single, &HEADS_ARE_UNCHANGED, &heads, bind);
    log::raise_heads(&mut batch, &write.rows.heads);
    batch
}
