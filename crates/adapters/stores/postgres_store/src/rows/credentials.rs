//! Rows of `credentials`, and the row of `store_state`.

use domain::{ConfinedScopes, Credential, Timestamp};
use ports::write_store::{Revocation, StateChange};
use relational::{credential_columns, stored::ProofColumns};
use sqlx::types::Json;

use crate::{cte_batch::CteBatch, fragments::unnest};

relational::statements! {
    /// A trigger assigns `sort_seq`. Unlike this statement, it sees the credentials that were committed
    /// while the statement waited for the tenant lock, and those of the same batch.
    const INSERT: &str = concat!(
        "insert into credentials (",
        credential_columns!(),
        ") select n.id, n.kind, n.tenant, n.name, \
            array(select jsonb_array_elements_text(n.scopes)), n.digest, n.last4, n.previous_digest, \
            n.previous_until, n.key_set, n.key_set_url, n.created, n.expires, n.last_used, n.revoked, \
            array(select jsonb_array_elements_text(n.allowed_origins)), n.limits, n.confined \
        from ",
        unnest!(
            1 text, 2 text, 3 text, 4 text, 5 jsonb, 6 bytea, 7 text, 8 bytea, 9 timestamptz,
            10 jsonb, 11 text, 12 timestamptz, 13 timestamptz, 14 timestamptz, 15 timestamptz,
            16 jsonb, 17 jsonb, 18 jsonb
        ),
        " as n (id, kind, tenant, name, scopes, digest, last4, previous_digest, previous_until, \
                key_set, key_set_url, created, expires, last_used, revoked, allowed_origins, limits, confined) \
        where true"
    );

    /// The rows are locked, since their facts were read.
    const UPDATE: &str = concat!(
        "update credentials set name = n.name, \
            scopes = array(select jsonb_array_elements_text(n.scopes)), confined = n.confined, \
            expires_at = n.expires, \
            allowed_origins = array(select jsonb_array_elements_text(n.allowed_origins)), \
            limits = n.limits \
        from ",
        unnest!(1 text, 2 text, 3 jsonb, 4 jsonb, 5 timestamptz, 6 jsonb, 7 jsonb),
        " as n (id, name, scopes, confined, expires, allowed_origins, limits) \
        where credentials.id = n.id"
    );

    /// Updates rows in id order, so that it and the recording of uses do not block each other.
    const REVOKE: &str = concat!(
        "update credentials set revoked_at = n.at \
        from (select c.id, q.at from ",
        unnest!(1 text, 2 timestamptz),
        " as q (id, at) \
            join credentials c on c.id = q.id order by c.id for update of c) n \
        where credentials.id = n.id and credentials.revoked_at is null"
    );

    /// One statement, since one row cannot be changed twice in a batch.
    const CHANGE_STATE: &str = "\
        update store_state set access_version = access_version + $1::bool::int, \
            had_key = had_key or $2::bool \
        where ($1::bool or $2::bool and not had_key)";
}

/// Inserts new credentials.
pub(super) fn insert(batch: &mut CteBatch, rows: &[Credential]) {
    batch.add(INSERT, rows, |insert, rows| {
        let proofs = rows.iter().map(|row| ProofColumns::from(&row.proof));
        let proofs = &proofs.collect::<Vec<_>>();
        let scopes = rows
            .iter()
            .map(|row| ConfinedScopes::split(&row.scopes, &row.agents));
        let scopes = &scopes.collect::<Vec<_>>();
        insert
            .column(rows, |row| row.id.as_str())
            .column(rows, |row| row.kind.as_str())
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.name.as_str())
            .column(scopes, |(scopes, _)| Json(scopes))
            .column(proofs, |proof| proof.digest.as_deref())
            .column(proofs, |proof| proof.last4.as_deref())
            .column(proofs, |proof| proof.previous_digest.as_deref())
            .column(proofs, |proof| {
                proof.previous_until.map(Timestamp::date_time)
            })
            .column(proofs, |proof| proof.key_set.as_ref().map(Json))
            .column(proofs, |proof| proof.key_set_url.as_deref())
            .column(rows, |row| row.created_at.date_time())
            .column(rows, |row| row.expires_at.map(Timestamp::date_time))
            .column(rows, |row| row.last_used_at.map(Timestamp::date_time))
            .column(rows, |row| row.revoked_at.map(Timestamp::date_time))
            .column(rows, |row| Json(&row.allowed_origins))
            .column(rows, |row| Json(&row.limits))
            .column(scopes, |(_, confined)| confined.as_ref().map(Json))
    });
}

/// Replaces the content of credentials.
pub(super) fn update(batch: &mut CteBatch, rows: &[Credential]) {
    batch.add(UPDATE, rows, |update, rows| {
        let scopes = rows
            .iter()
            .map(|row| ConfinedScopes::split(&row.scopes, &row.agents));
        let scopes = &scopes.collect::<Vec<_>>();
        update
            .column(rows, |row| row.id.as_str())
            .column(rows, |row| row.name.as_str())
            .column(scopes, |(scopes, _)| Json(scopes))
            .column(scopes, |(_, confined)| confined.as_ref().map(Json))
            .column(rows, |row| row.expires_at.map(Timestamp::date_time))
            .column(rows, |row| Json(&row.allowed_origins))
            .column(rows, |row| Json(&row.limits))
    });
}

/// Revokes credentials that are not revoked yet.
pub(super) fn revoke(batch: &mut CteBatch, rows: &[Revocation]) {
    batch.add(REVOKE, rows, |revoke, rows| {
        revoke
            .column(rows, |row| row.id.as_str())
            .column(rows, |row| row.revoked_at.date_time())
    });
}

/// Changes the state of the store.
pub(super) fn change_state(batch: &mut CteBatch, change: StateChange) {
    if change != StateChange::default() {
        batch.add(CHANGE_STATE, &[change], |parameters, _| {
            parameters
                .bind(change.raises_access_version)
                .bind(change.records_key)
        });
    }
}
