//! Reading a tenant's log in tests.

use domain::{Event, EventType, Seq, TenantId};
use ports::{EventPage, EventQuery};
use writes::Committed;

use crate::{Store, fixture, results::ResultExt as _};

/// Creates a query for the whole log after `since`.
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

/// Reads one page of the log of the fixture's tenant.
pub(crate) async fn page(storage: &Store, query: &EventQuery) -> EventPage {
    let tenant = fixture::tenant();
    storage.event_page(&tenant, query).await.success()
}

/// Reads the head of a tenant's log.
pub(crate) async fn head(storage: &Store, tenant: &TenantId) -> Seq {
    storage.events.bounds(tenant).await.success().head
}

/// Reads all events of the fixture's tenant.
pub async fn events(storage: &Store) -> Vec<Event> {
    events_after(storage, Seq(0)).await
}

/// Reads the events of the fixture's tenant after `since`.
async fn events_after(storage: &Store, since: Seq) -> Vec<Event> {
    let page = page(storage, &query(since)).await;
    page.events.into_iter().map(|logged| logged.event).collect()
}

/// Reads the types of all events of the fixture's tenant, in order.
pub(crate) async fn types(storage: &Store) -> Vec<EventType> {
    let events = events(storage).await;
    events.into_iter().map(|event| event.kind).collect()
}

/// Reads the events that a change of the fixture's tenant wrote.
pub(crate) async fn events_of(storage: &Store, committed: Committed) -> Vec<Event> {
    let mut events = events_after(storage, Seq(committed.first.0 - 1)).await;
    events.retain(|event| event.seq <= committed.last);
    events
}

/// Reads the types of the events that a change of the fixture's tenant wrote, in order.
pub(crate) async fn types_of(storage: &Store, committed: Committed) -> Vec<EventType> {
    let events = events_of(storage, committed).await;
    events.into_iter().map(|event| event.kind).collect()
}
