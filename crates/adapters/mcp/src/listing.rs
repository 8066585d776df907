//! Asking a server what it has.

use rmcp::{
    RoleClient,
    model::{PaginatedRequestParams, Tool},
    service::{Peer, ServiceError},
};

/// The most tools that are taken of one server.
pub(crate) const MOST_TOOLS: usize = 256;

/// The most pages that are asked for: a server may answer empty ones for ever.
const MOST_PAGES: usize = 64;

/// The tools of a server.
pub(crate) struct Listing {
    pub(crate) tools: Vec<Tool>,
    /// Whether there are more than are taken.
    pub(crate) is_cut: bool,
}

/// Asks for all pages.
pub(crate) async fn list(peer: &Peer<RoleClient>) -> Result<Listing, ServiceError> {
    let mut listing = Listing {
        tools: Vec::new(),
        is_cut: false,
    };
    let info = peer.peer_info();
    if info.is_some_and(|info| info.capabilities.tools.is_none()) {
        return Ok(listing);
    }
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let asked = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(asked)).await?;
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
