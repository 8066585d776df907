//! Writes the rows of a plan, with one statement for each table and kind of change.
//!
//! Each column is sent as one array, and `unnest` restores the rows: a batch of hundreds of turns
//! costs as many round trips as a single turn. All statements together cost one round trip;
//! released idempotency keys cost another.

mod agents;
mod conversations;
mod credentials;
mod log;
mod messages;
mod turns;

use domain::CredentialId;
use ports::RepositoryError;
use relational::{CredentialFacts, PlannedBatch, RecordKey, Rows};
use sqlx::PgConnection;

use crate::{
    cte_batch::CteBatch,
    error::from_sqlx,
    facts::{name_agents, name_texts},
};

/// The statements of this module.
pub(crate) const STATEMENTS: &[&[&str]] = &[
    agents::STATEMENTS,
    conversations::STATEMENTS,
    credentials::STATEMENTS,
    turns::STATEMENTS,
    messages::STATEMENTS,
    log::STATEMENTS,
];

/// The condition under which a planned batch is written. The lock is taken in the order of the ids,
/// as in [`crate::facts`]; after a wait for it, the head is compared again. Nodes, keys, credentials
/// and names are read as they were before the wait. That is the same for keys of turns, agents and
/// conversations and for names, which change together with the head. Nodes are marked dead without the lock, an
/// inserted key or credential that exists is rejected, and a revoked credential is not revoked again.
const CONDITION: &str = "\
    unchanged as materialized (select t.id \
        from unnest($1::text[], $2::bigint[]) as n (tenant, head) \
        join tenants t on t.id = n.tenant and t.head_seq = n.head order by t.id for update of t), \
    condition as materialized (select \
        where (select count(*) from unchanged) = cardinality($1) \
        and (select count(*) from nodes where id = any($3::uuid[]) and not swept) = cardinality($3) \
        and not exists (select from unnest($4::text[], $5::text[], $6::text[], $7::text[]) \
            as q (tenant, principal, operation, key) \
            join idempotency_records r on r.tenant_id = q.tenant \
                and r.principal = q.principal and r.operation = q.operation and r.key = q.key) \
        and (select count(*) from unnest($8::text[], $9::text[], $10::text[]) \
            as q (id, tenant, kind) join credentials c on c.id = q.id \
                and c.tenant_id is not distinct from q.tenant and c.kind = q.kind \
            where c.revoked_at is null) = cardinality($8) \
        and not exists (select from unnest($11::text[], $12::uuid[], $13::text[], $14::text[]) \
            as q (tenant, agent, owner, key) where exists (select from conversations c \
                where c.tenant_id = q.tenant and c.agent_id = q.agent \
                    and coalesce(c.user_id, '') = q.owner and c.key = q.key \
                    and c.deleted_at is null)))";

/// Writes all of `rows`.
pub(crate) async fn write(
    connection: &mut PgConnection,
    rows: &Rows,
) -> Result<(), RepositoryError> {
    // First, since a key may move from a failed turn to the next one.
    let mut batch = CteBatch::default();
    log::release_keys(&mut batch, &rows.released);
    batch.run(connection).await.map_err(from_sqlx)?;
    let mut batch = CteBatch::default();
    add_changes(&mut batch, rows);
    log::replace_records(&mut batch, &rows.idempotency);
    batch.run(connection).await.map_err(from_sqlx)?;
    Ok(())
}

/// Writes the rows of `batch` in one round trip, unless a fact has changed on which it was decided;
/// returns whether they were written.
pub(crate) async fn write_if_current(
    connection: &mut PgConnection,
    batch: &PlannedBatch,
) -> Result<bool, sqlx::Error> {
    let PlannedBatch { query, facts, rows } = batch;
    let key = |text: fn(&RecordKey) -> &str| column(&query.idempotency, text);
    let credential = |text: fn(&CredentialFacts) -> &str| -> Vec<&str> {
        facts.credentials.values().map(text).collect()
    };
    let [tenants, owners, keys] = name_texts(&query.names);
    let mut statements = CteBatch::conditional(CONDITION, |condition| {
        let heads = facts.heads.iter();
        condition
            .bind(
                heads
                    .clone()
                    .map(|(tenant, _)| tenant.as_str())
                    .collect::<Vec<_>>(),
            )
            .bind(heads.map(|(_, head)| head.0).collect::<Vec<_>>())
            .bind(query.nodes.iter().map(|id| id.uuid()).collect::<Vec<_>>())
            .bind(key(|key| key.tenant.as_str()))
            .bind(key(|key| key.principal.as_str()))
            .bind(key(|key| &key.operation))
            .bind(key(|key| &key.key))
            .bind(
                facts
                    .credentials
                    .keys()
                    .map(CredentialId::as_str)
                    .collect::<Vec<_>>(),
            )
            .bind(credential(|facts| facts.tenant.as_str()))
            .bind(credential(|facts| facts.kind.as_str()))
            .bind(tenants)
            .bind(name_agents(&query.names))
            .bind(owners)
            .bind(keys)
    });
    add_changes(&mut statements, rows);
    log::insert_records(&mut statements, &rows.idempotency);
    statements.run(connection).await
}

/// Adds all changes but those of idempotency keys.
fn add_changes(batch: &mut CteBatch, rows: &Rows) {
    // The database server runs the parts from the last to the first. A rotation, too, locks its
    // credential before the state of the store.
    credentials::change_state(batch, rows.state);
    agents::insert(batch, &rows.agents);
    agents::update(batch, &rows.agent_updates);
    conversations::insert(batch, &rows.conversations);
    conversations::advance(batch, &rows.advances);
    conversations::update(batch, &rows.conversation_updates);
    conversations::delete(batch, &rows.conversation_deletions);
    credentials::insert(batch, &rows.credentials);
    credentials::revoke(batch, &rows.revocations);
    turns::insert(batch, &rows.turns);
    turns::end(batch, &rows.ends);
    turns::start(batch, &rows.starts);
    messages::insert(batch, &rows.messages);
    messages::supersede(batch, &rows.superseded);
    messages::set_turns(batch, &rows.answered);
    messages::copy(batch, &rows.copies);
    log::insert_events(batch, &rows.events);
    log::raise_heads(batch, &rows.heads);
}

/// The values of one column of `rows`.
fn column<'r, R, T>(rows: &'r [R], value: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
