//! Listings of the turns of a tenant, by conditions that no index answers.

use domain::{AsOf, Listed, Rating, TenantId, Turn};
use ports::{RepositoryError, ScannedTurns, TurnPosition, TurnScan, WaitingFor};
use uuid::Uuid;

use crate::{
    Parameter, Store, agent_ids, page_budget, parameters,
    read::{self, ReadAs, ScannedRow},
    statements,
    stored::StoredTurn,
};

/// The statements on the turns of tenant 1.
pub trait TurnScanSql: Store<Row: ReadAs<ScannedRow<StoredTurn>>> {
    statements! {
        /// At most 3 of the 10,000 turns before id 2, joined to the tenant's head: those with `is_match`, which
        /// pass the filters 4 (agents), 5 (a user), 6 (from a time), 7 (to a time), 8 (a status, `open` or `waiting`),
        /// 9 (metadata) and 10 (a rating, of anybody if 11 is true), each unless it is null.
        /// The last of the 10,000 follows whether it passes or not, with `is_last`.
        const ALL_TURNS: &'static str;

        /// Those of the 10,000 turns with waiting calls before position 2 that have a call that waits for staff
        /// if 12 is true, otherwise for the user; only calls that users see count unless 11 is true.
        const WAITING_TURNS: &'static str;
    }
}

/// Returns one page of a scan.
pub(super) async fn page<S: TurnScanSql>(
    store: &S,
    tenant: &TenantId,
    scan: &TurnScan,
) -> Result<AsOf<ScannedTurns>, RepositoryError> {
    let conditions = &scan.conditions;
    let agents = agent_ids(&conditions.agents);
    let metadata = serde_json::to_value(&conditions.metadata).unwrap_or_default();
    let metadata = (!conditions.metadata.is_empty()).then_some(&metadata);
    let before = match (conditions.waiting_for, scan.before) {
        (None, before) => before.map_or(Uuid::max(), |it| it.id.uuid()).into(),
        (Some(_), before) => Parameter::from(before.map_or(i64::MAX, |it| it.sort_seq.0)),
    };
    let mut parameters = parameters![
        tenant,
        before,
        page_budget::one_more(scan.limit),
        Parameter::Ids(agents.as_deref()),
        conditions.user_id.as_deref(),
        conditions.from,
        conditions.to,
        conditions.status.name(),
        Parameter::Json(metadata),
        conditions.rating.as_ref().map(Rating::as_str),
        !conditions.as_user,
    ]
    .to_vec();
    let waiting_for = conditions.waiting_for;
    parameters.extend(waiting_for.map(|it| Parameter::from(it == WaitingFor::Staff)));
    let statement = match waiting_for {
        None => S::ALL_TURNS,
        Some(_) => S::WAITING_TURNS,
    };
    let rows = store.fetch_all(statement, &parameters).await?;
    let convert = |row: StoredTurn| row.try_into();
    let page = read::as_of_scan("turns", &rows, scan.limit, convert)?;
    Ok(page.map(|(items, last)| ScannedTurns {
        next: last.map(|last: Listed<Turn>| TurnPosition {
            sort_seq: last.sort_seq,
            id: last.item.id,
        }),
        items,
    }))
}
