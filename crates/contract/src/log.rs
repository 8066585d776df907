//! Reading a tenant's log in tests.

use domain::{Event, EventType, Seq, TenantId};
use ports::{Committed, EventPage, EventQuery, Storage};

use crate::{answers::Answer as _, samples};

/// The whole log after `since`.
pub(crate) fn query(since: Seq) -> EventQuery {
    EventQuery {
        since,
        limit: 10_000,
        bytes: usize::MAX,
        types: Vec::new(),
        agent_id: None,
        conversation_id: None,
        visibility: None,
    }
}

/// One page of the log of the samples' tenant.
pub(crate) async fn page(storage: &Storage, query: &EventQuery) -> EventPage {
    let tenant = samples::tenant();
    storage.events.page(&tenant, query).await.answered()
}

/// Where a tenant's log stands.
pub(crate) async fn head(storage: &Storage, tenant: &TenantId) -> Seq {
    storage.events.bounds(tenant).await.answered().head
}

/// All events of the samples' tenant.
pub(crate) async fn events(storage: &Storage) -> Vec<Event> {
    events_after(storage, Seq(0)).await
}

/// The events of the samples' tenant after `since`.
async fn events_after(storage: &Storage, since: Seq) -> Vec<Event> {
    let page = page(storage, &query(since)).await;
    page.events.into_iter().map(|logged| logged.event).collect()
}

/// What happened in the samples' tenant, in order.
pub(crate) async fn types(storage: &Storage) -> Vec<EventType> {
    let events = events(storage).await;
    events.into_iter().map(|event| event.kind).collect()
}

/// The events that a change of the samples' tenant wrote.
pub(crate) async fn events_of(storage: &Storage, committed: Committed) -> Vec<Event> {
    let mut events = events_after(storage, Seq(committed.first.0 - 1)).await;
    events.retain(|event| event.seq <= committed.last);
    events
}

/// What a change of the samples' tenant wrote, in order.
pub(crate) async fn types_of(storage: &Storage, committed: Committed) -> Vec<EventType> {
    let events = events_of(storage, committed).await;
    events.into_iter().map(|event| event.kind).collect()
}
