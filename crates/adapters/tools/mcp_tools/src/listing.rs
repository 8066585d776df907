//! Listing the tools of a server.

use std::collections::HashSet;

use rmcp::{
    RoleClient,
    model::{
        ClientRequest, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ServerResult,
        Tool,
    },
    service::{Peer, ServiceError},
};
use serde_json::Value;

use crate::tool_catalog::MAX_CAPABILITY_CHARS;

/// The maximum number of tools of one server.
pub(crate) const MAX_TOOLS: usize = 256;

/// The maximum number of pages: a server may return empty pages forever.
const MAX_PAGES: usize = 64;

/// The tools of a server.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<Tool>,
    /// The beginnings of the names of tools that violate the protocol.
    pub(crate) invalid: Vec<String>,
    /// `true` if the server has more tools than are used.
    pub(crate) is_truncated: bool,
}

/// Requests all pages.
pub(crate) async fn list(peer: &Peer<RoleClient>) -> Result<Listing, ServiceError> {
    let mut listing = Listing::default();
    let info = peer.peer_info();
    if info.is_some_and(|info| info.capabilities.tools.is_none()) {
        return Ok(listing);
    }
    let mut cursor = None;
    let mut cursors = HashSet::new();
    for _ in 0..MAX_PAGES {
        let request = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let request = ListToolsRequest::with_param(request);
        let request = ClientRequest::ListToolsRequest(request);
        let page = match peer.send_request(request).await? {
            ServerResult::ListToolsResult(page) => page,
            ServerResult::CustomResult(page) => listing.read(page.0)?,
            _ => return Err(ServiceError::UnexpectedResponse),
        };
        listing.tools.extend(page.tools);
        if listing.tools.len() > MAX_TOOLS {
            listing.tools.truncate(MAX_TOOLS);
            listing.is_truncated = true;
            return Ok(listing);
        }
        cursor = page.next_cursor;
        // Some servers ignore the cursor, and return the same page forever.
        if !cursor
            .as_ref()
            .is_some_and(|next| cursors.insert(next.clone()))
        {
            return Ok(listing);
        }
    }
    listing.is_truncated = true;
    Ok(listing)
}

impl Listing {
    /// Reads a page with tools that violate the protocol, and omits those. `null` counts as absent.
    fn read(&mut self, mut page: Value) -> Result<ListToolsResult, ServiceError> {
        remove_nulls(&mut page);
        let tools = page.get_mut("tools").and_then(Value::as_array_mut);
        let tools = tools.ok_or(ServiceError::UnexpectedResponse)?;
        tools.iter_mut().for_each(remove_nulls);
        tools.retain(|tool| {
            let is_tool = serde_json::from_value::<Tool>(tool.clone()).is_ok();
            if !is_tool && self.invalid.len() < MAX_TOOLS {
                let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
                let name = name.chars().take(MAX_CAPABILITY_CHARS + 1);
                self.invalid.push(name.collect());
            }
            is_tool
        });
        serde_json::from_value(page).or(Err(ServiceError::UnexpectedResponse))
    }
}

fn remove_nulls(value: &mut Value) {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
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
    fn an_invalid_tool_does_not_affect_others(#[case] invalid_tool: Value, #[case] name: &str) {
        let good = json!({ "name": "good", "inputSchema": {} });
        let page = json!({ "tools": [invalid_tool, good], "nextCursor": "next" });
        // The SDK parses it in the same way.
        let page = match serde_json::from_value(page).expect("a result") {
            ServerResult::CustomResult(page) => page.0,
            other => panic!("it is read as {other:?}"),
        };
        let mut listing = Listing::default();
        let page = listing.read(page).expect("a page");
        assert_eq!(page.tools.len(), 1);
        assert_eq!(page.tools[0].name, "good");
        assert_eq!(page.next_cursor.as_deref(), Some("next"));
        assert_eq!(listing.invalid, [name]);
    }

    #[rstest]
    #[case("title")]
    #[case("description")]
    #[case("outputSchema")]
    #[case("annotations")]
    #[case("execution")]
    #[case("icons")]
    #[case("_meta")]
    fn null_counts_as_absent(#[case] member: &str) {
        let tool = json!({ "name": "good", "inputSchema": {}, member: null });
        let page = json!({ "tools": [tool], "nextCursor": null, "_meta": null, "ttlMs": null });
        let mut listing = Listing::default();
        let page = match serde_json::from_value(page).expect("a result") {
            ServerResult::ListToolsResult(page) => page,
            ServerResult::CustomResult(page) => listing.read(page.0).expect("a page"),
            other => panic!("it is read as {other:?}"),
        };
        assert_eq!(page.tools.len(), 1);
        assert_eq!(page.next_cursor, None);
        assert!(listing.invalid.is_empty());
    }

    #[rstest]
    #[case(json!({ "tools": 5 }))]
    #[case(json!([]))]
    #[case(json!({ "tools": [], "nextCursor": 5 }))]
    fn an_invalid_page_is_an_error(#[case] page: Value) {
        let read = Listing::default().read(page);
        assert!(matches!(read, Err(ServiceError::UnexpectedResponse)));
    }
}
