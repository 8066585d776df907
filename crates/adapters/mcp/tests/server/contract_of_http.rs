//! The promises of the port, kept with somebody else's server over HTTP.

use std::ops::Deref;

use mcp_tools::McpServer;

use crate::{ground::Ground, http::HttpPartner};

struct Fixture {
    ground: Ground,
    _partner: HttpPartner,
}

impl Deref for Fixture {
    type Target = McpServer;

    fn deref(&self) -> &McpServer {
        &self.ground
    }
}

async fn fixture() -> Fixture {
    let partner = HttpPartner::start();
    let ground = Ground::of(partner.transport()).connected().await;
    Fixture {
        ground,
        _partner: partner,
    }
}

contract::tool_provider_contract!(crate::contract_of_http::fixture, crate::ground::sample);
