//! The protocols of other products' clients.

mod ag_ui;
mod ai_sdk;
mod openai;
mod pages;
mod preflights;

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
