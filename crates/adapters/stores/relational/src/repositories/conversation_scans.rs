//! Listings of conversations by conditions that no index answers.

use domain::{AsOf, Conversation, Rating, TenantId, Timestamp};
use ports::{
    ConversationPosition, ConversationScan, Handling, RatingCondition, RepositoryError, ScanOrder,
    ScannedConversations,
};
use uuid::Uuid;

use crate::{
    Parameter, Store, agent_ids, page_budget, parameters,
    read::{self, ReadAs, ScannedRow},
    statements,
    stored::StoredConversation,
};

/// The statements on the conversations of tenant 1.
pub trait ConversationScanSql: Store<Row: ReadAs<ScannedRow<StoredConversation>>> {
    statements! {
        /// At most 2 of the 10,000 conversations after the position 13 and id 12, joined to the tenant's head:
        /// those with `is_match`, which pass the filters 3 (agents), 4 (a user), 5 (a member of staff), 6 (the
        /// side that handles them), 7 (from a time), 8 (to a time), 9 (metadata) and 10 (a rating, of anybody if
        /// 11 is true), each unless it is null. The last of the 10,000 follows whether it passes or not, with
        /// `is_last`.
        const BY_ACTIVITY: &'static str;

        /// Those of user 4.
        const BY_ACTIVITY_OF_USER: &'static str;

        /// Those that wait for staff, after the time 13 and id 12.
        const BY_WAITING: &'static str;

        /// Those after id 12.
        const BY_ID: &'static str;

        /// Those of user 4 after id 12.
        const BY_ID_OF_USER: &'static str;
    }
}

/// Returns one page of a scan.
pub(super) async fn page<S: ConversationScanSql>(
    store: &S,
    tenant: &TenantId,
    scan: &ConversationScan,
) -> Result<AsOf<ScannedConversations>, RepositoryError> {
    let ConversationScan {
        filter, conditions, ..
    } = scan;
    let agents = agent_ids(&filter.agents);
    let metadata = serde_json::to_value(&conditions.metadata).unwrap_or_default();
    let metadata = (!conditions.metadata.is_empty()).then_some(&metadata);
    let (handler, assignee) = handled_by(filter.handling.as_ref());
    let RatingCondition { rating, by_user } = conditions.rating.unwrap_or(RatingCondition {
        rating: Rating::Up,
        by_user: false,
    });
    let rating = conditions.rating.is_some().then(|| rating.as_str());
    let after = scan.after;
    let mut parameters = parameters![
        tenant,
        page_budget::one_more(scan.limit),
        Parameter::Ids(agents.as_deref()),
        filter.user_id.as_deref(),
        assignee,
        handler,
        conditions.from,
        conditions.to,
        Parameter::Json(metadata),
        rating,
        !by_user,
    ]
    .to_vec();
    let (first_id, key) = match scan.order {
        ScanOrder::Activity => (
            Uuid::max(),
            Some(Parameter::from(after.map_or(i64::MAX, |it| it.key))),
        ),
        ScanOrder::Waiting => {
            let since = after.map_or(0, |it| it.key);
            let since = Timestamp::from_milliseconds(since);
            (Uuid::nil(), Some(since.into()))
        }
        ScanOrder::Id => (Uuid::nil(), None),
    };
    parameters.push(after.map_or(first_id, |it| it.id.uuid()).into());
    parameters.extend(key);
    let rows = store.fetch_all(statement::<S>(scan), &parameters).await?;
    let convert = |row: StoredConversation| row.try_into();
    let page = read::as_of_scan("conversations", &rows, scan.limit, convert)?;
    Ok(page.map(|(items, last)| ScannedConversations {
        next: last.map(|last| position(&last.item, last.sort_seq.0, scan.order)),
        items,
    }))
}

fn statement<S: ConversationScanSql>(scan: &ConversationScan) -> &'static str {
    match (scan.order, &scan.filter.user_id) {
        (ScanOrder::Activity, None) => S::BY_ACTIVITY,
        (ScanOrder::Activity, Some(_)) => S::BY_ACTIVITY_OF_USER,
        (ScanOrder::Waiting, _) => S::BY_WAITING,
        (ScanOrder::Id, None) => S::BY_ID,
        (ScanOrder::Id, Some(_)) => S::BY_ID_OF_USER,
    }
}

/// Returns the side that handles the conversations, and the member of staff.
fn handled_by(handling: Option<&Handling>) -> (Option<&'static str>, Option<&str>) {
    match handling {
        None => (None, None),
        Some(Handling::Agent) => (Some("agent"), None),
        Some(Handling::Staff(assignee) | Handling::Waiting(assignee)) => {
            (Some("staff"), assignee.as_deref())
        }
    }
}

fn position(last: &Conversation, sort_seq: i64, order: ScanOrder) -> ConversationPosition {
    let waiting_since = last.waiting_since.map(Timestamp::milliseconds);
    ConversationPosition {
        key: match order {
            ScanOrder::Activity => sort_seq,
            ScanOrder::Waiting => waiting_since.unwrap_or_default(),
            ScanOrder::Id => 0,
        },
        id: last.id,
    }
}
