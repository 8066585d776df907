//! Which events are asked for.

use actix_web::HttpRequest;
use application::events::EventListing;
use domain::{AgentId, ConversationId, EventType, FaultCode, Seq};

use crate::{problem::ApiError, request::QueryParameters};

/// Which events are asked for, and how many of them on a page.
pub(super) fn read(request: &HttpRequest) -> Result<(EventListing, usize), ApiError> {
    let known = ["since", "types", "agentId", "conversationId", "limit"];
    let mut query = QueryParameters::read(request, &known);
    let limit = query.limit();
    let since = query.parsed::<i64>("since", "a whole number");
    if since.is_some_and(|since| since < 0) {
        query.refuse("since", FaultCode::TooSmall, "at least 0");
    }
    let types = event_types(&mut query);
    // Nothing concerns what cannot be an id.
    let nobody = uuid::Uuid::nil();
    let agent_id = query
        .text("agentId")
        .map(|id| id.parse().unwrap_or(AgentId::new(nobody)));
    let conversation_id = query
        .text("conversationId")
        .map(|id| id.parse().unwrap_or(ConversationId::new(nobody)));
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
    let types: Option<Vec<EventType>> = text.split(',').map(EventType::parse).collect();
    types.unwrap_or_else(|| {
        query.refuse(
            "types",
            FaultCode::UnknownValue,
            "event types separated by commas",
        );
        Vec::new()
    })
}
