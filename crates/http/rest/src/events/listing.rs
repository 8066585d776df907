//! Reads the query of an event listing.

use actix_web::HttpRequest;
use application::events::EventListing;
use domain::{AgentId, ConversationId, EventType, FaultCode, Seq};
use kit::{problem::ApiError, request::QueryParameters};

/// Returns the events that the query selects, and the maximum number of events in a page.
pub(super) fn read(request: &HttpRequest) -> Result<(EventListing, usize), ApiError> {
    let known = ["since", "types", "agentId", "conversationId", "limit"];
    let mut query = QueryParameters::read(request, &known);
    let limit = query.limit();
    let since = query.parsed::<i64>("since", "must be a whole number");
    if since.is_some_and(|since| since < 0) {
        query.add_fault("since", FaultCode::TooSmall, "must be at least 0");
    }
    let types = event_types(&mut query);
    // A malformed id selects no events, like the id of something that does not exist.
    let unused_id = uuid::Uuid::nil();
    let agent_id = query
        .text("agentId")
        .map(|id| id.parse().unwrap_or(AgentId::new(unused_id)));
    let conversation_id = query
        .text("conversationId")
        .map(|id| id.parse().unwrap_or(ConversationId::new(unused_id)));
    query.finish()?;
    let listing = EventListing {
        since: since.map(Seq),
        types,
        agent_id,
        conversation_id,
    };
    Ok((listing, limit))
}

fn event_types(query: &mut QueryParameters) -> Vec<EventType> {
    let Some(text) = query.text("types") else {
        return Vec::new();
    };
    let types: Option<Vec<EventType>> = text.split(',').map(EventType::known).collect();
    types.unwrap_or_else(|| {
        query.add_fault(
            "types",
            FaultCode::UnknownValue,
            "must be event types separated by commas",
        );
        Vec::new()
    })
}
