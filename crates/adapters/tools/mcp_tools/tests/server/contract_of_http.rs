//! The contract tests of the port, with the reference server over HTTP.

use std::ops::Deref;

use mcp_tools::McpServer;

use crate::{fixture::Fixture, http::HttpServer};

struct HttpFixture {
    server: Fixture,
    _http_server: HttpServer,
}

impl Deref for HttpFixture {
    type Target = McpServer;

    fn deref(&self) -> &McpServer {
        &self.server
    }
}

async fn http_fixture() -> HttpFixture {
    let http_server = HttpServer::start();
    let server = Fixture::new(http_server.transport())
        .wait_until_connected()
        .await;
    HttpFixture {
        server,
        _http_server: http_server,
    }
}

contract::tool_provider_contract!(
    crate::contract_of_http::http_fixture,
    crate::fixture::sample_call
);
