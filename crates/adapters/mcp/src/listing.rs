//! Asking a server what it has.

use rmcp::{
    RoleClient,
    model::{
        ClientRequest, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ServerResult,
        Tool,
    },
    service::{Peer, ServiceError},
};
use serde_json::Value;

use crate::offer::LONGEST_CAPABILITY;

/// The most tools that are taken of one server.
pub(crate) const MOST_TOOLS: usize = 256;

/// The most pages that are asked for: a server may answer empty ones for ever.
const MOST_PAGES: usize = 64;

/// The tools of a server.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Tool>,
    /// How the names of those begin that do not keep to the protocol.
    pub(crate) unreadable: Vec<String>,
    /// Whether there are more than are taken.
    pub(crate) is_cut: bool,
}

/// Asks for all pages.
pub(crate) async fn list(peer: &Peer<RoleClient>) -> Result<Listing, ServiceError> {
    let mut listing = Listing::default();
    let info = peer.peer_info();
    if info.is_some_and(|info| info.capabilities.tools.is_none()) {
        return Ok(listing);
    }
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let asked = PaginatedRequestParams::default().with_cursor(cursor);
        let asked = ListToolsRequest::with_param(asked);
        let asked = ClientRequest::ListToolsRequest(asked);
        let page = match peer.send_request(asked).await? {
            ServerResult::ListToolsResult(page) => page,
            ServerResult::CustomResult(page) => listing.read(page.0)?,
            _ => return Err(ServiceError::UnexpectedResponse),
        };
        listing.tools.extend(page.tools);
        if listing.tools.len() > MOST_TOOLS {
            listing.tools.truncate(MOST_TOOLS);
            listing.is_cut = true;
            return Ok(listing);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(listing);
        }
    }
    listing.is_cut = true;
    Ok(listing)
}

impl Listing {
    /// Reads a page that has tools which do not keep to the protocol: those are left out.
    fn read(&mut self, mut page: Value) -> Result<ListToolsResult, ServiceError> {
        let tools = page.get_mut("tools").and_then(Value::as_array_mut);
        let tools = tools.ok_or(ServiceError::UnexpectedResponse)?;
        tools.retain(|tool| {
            let is_tool = serde_json::from_value::<Tool>(tool.clone()).is_ok();
            if !is_tool && self.unreadable.len() < MOST_TOOLS {
                let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
                let name = name.chars().take(LONGEST_CAPABILITY + 1);
                self.unreadable.push(name.collect());
            }
            is_tool
        });
        serde_json::from_value(page).or(Err(ServiceError::UnexpectedResponse))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({ "name": "noschema" }), "noschema")]
    #[case(json!({ "name": 5, "inputSchema": {} }), "")]
    #[case(json!({ "name": "list", "inputSchema": [] }), "list")]
    #[case(json!("tool"), "")]
    #[case(json!(null), "")]
    fn a_tool_that_is_none_costs_no_other(#[case] wrong: Value, #[case] name: &str) {
        let good = json!({ "name": "good", "inputSchema": {} });
        let page = json!({ "tools": [wrong, good], "nextCursor": "next" });
        // As the SDK reads it.
        let page = match serde_json::from_value(page).expect("a result") {
            ServerResult::CustomResult(page) => page.0,
            other => panic!("it is read as {other:?}"),
        };
        let mut listing = Listing::default();
        let page = listing.read(page).expect("a page");
        assert_eq!(page.tools.len(), 1);
        assert_eq!(page.tools[0].name, "good");
        assert_eq!(page.next_cursor.as_deref(), Some("next"));
        assert_eq!(listing.unreadable, [name]);
    }

    #[rstest]
    #[case(json!({ "tools": 5 }))]
    #[case(json!([]))]
    #[case(json!({ "tools": [], "nextCursor": 5 }))]
    fn a_page_that_is_none_is_an_error(#[case] page: Value) {
        let read = Listing::default().read(page);
        assert!(matches!(read, Err(ServiceError::UnexpectedResponse)));
    }
}
