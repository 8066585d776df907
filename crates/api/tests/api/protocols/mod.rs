//! The protocols of other products' clients.

mod ag_ui;
pub(crate) mod ai_sdk;
mod files;
mod large_bodies;
mod openai;
mod output;
mod pages;
mod preflights;

use protocols::PROTOCOLS;

use crate::api_server::ApiServerBuilder;

#[tokio::test]
async fn the_start_page_lists_the_protocols_that_are_turned_on() {
    let builder = ApiServerBuilder::default().setting("PROTOCOLS__AG_UI", "false");
    let api = builder.start().await;
    let page = api.anonymous().get("/").await;
    for (path, is_listed) in [
        ("/ai-sdk/agents/{agentId}", true),
        ("/v1", true),
        ("/ag-ui/agents/{agentId}", false),
    ] {
        let item = format!("<code>{path}</code>");
        assert_eq!(page.text().contains(&item), is_listed, "{path}");
    }
    api.stop().await;
}

#[tokio::test]
async fn a_path_that_no_operation_of_a_protocol_has_is_explained() {
    let builder = ApiServerBuilder::default().setting("PROTOCOLS__AG_UI", "false");
    let api = builder.start().await;
    for (path, explanation) in [
        (
            "/ai-sdk/agents/an-agent",
            "The AI SDK protocol has no such path. Its base path is `/ai-sdk/agents/{agentId}`, \
             and `docs/protocols/ai-sdk.md` lists its operations.",
        ),
        (
            "/v1",
            "The OpenAI protocol has no such path. Its base path is `/v1`, and \
             `docs/protocols/openai.md` lists its operations.",
        ),
        ("/v1/responses", "The OpenAI protocol has no such path. "),
        (
            "/ag-ui/agents/an-agent/run",
            "The AG-UI protocol is turned off on this server by `PROTOCOLS__AG_UI`, see \
             `docs/protocols/ag-ui.md`.",
        ),
        ("/v10", "Compare the path with `/openapi.json`."),
    ] {
        let response = api.reader().request("GET", path).open().await;
        assert_eq!(response.status(), 404, "{path}");
        let text = response.text().await.expect("a body");
        assert!(text.contains(explanation), "{text}");
    }
    api.stop().await;
}

#[test]
fn every_protocol_has_a_page_that_exists() {
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for protocol in PROTOCOLS {
        let page = std::path::Path::new(repository).join(protocol.document);
        assert!(page.is_file(), "{}", protocol.document);
    }
}
