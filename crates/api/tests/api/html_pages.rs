//! The start page and the API reference.

use serde_json::json;

use crate::{
    api_server::{ApiServer, id_of},
    child_program,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_api_reference_has_the_title_of_the_product_and_all_its_files() {
    let api = ApiServer::start().await;
    let page = api.anonymous().get("/docs/").await;
    let page = page.text();
    assert!(
        page.contains("<title>Agent Service API reference</title>"),
        "{page}"
    );
    let files: Vec<&str> = page
        .split('"')
        .filter_map(|it| it.strip_prefix("./"))
        .collect();
    assert!(files.contains(&"swagger-initializer.js"), "{files:?}");
    for file in files {
        let response = api.anonymous().get(&format!("/docs/{file}")).await;
        assert_eq!(response.status, 200, "{file}");
    }
    let index = api.anonymous().get("/docs/index.html").await;
    assert_eq!(index.text(), page);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn html_pages_cannot_load_external_resources() {
    let api = ApiServer::start().await;
    for path in ["/", "/problems", "/docs/"] {
        let request = api.anonymous().request("GET", path);
        let response = request.header("Accept", "text/html,*/*;q=0.8").send().await;
        assert!(
            response.header("content-type").starts_with("text/html"),
            "{path}"
        );
        let policy = response.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        // The pages of Swagger UI have inline styles.
        let is_own = path != "/docs/";
        assert_eq!(policy.contains("style-src 'sha256-"), is_own, "{policy}");
        assert_eq!(policy.contains("'unsafe-inline'"), !is_own, "{policy}");
    }
    let moved = api.anonymous().get("/docs").await;
    assert_eq!((moved.status, moved.header("location")), (308, "/docs/"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_reference_sends_only_what_the_reader_entered() {
    let api = ApiServer::start().await;
    let agent = id_of(&api.agent(json!({"name": "Ada"})).await);
    let order = json!({
        "url": format!("http://{}/docs/", api.address),
        "key": api.writer().key(),
        "body": json!({"agentId": agent, "message": "Hello", "stream": true}).to_string(),
    });
    let shown = child_program::run("api_reference.mjs", &[], &order).await;
    assert_eq!(shown["prefilled"], json!([]));
    assert_eq!(
        shown["headers"],
        json!(["Content-Type", "X-API-Key", "accept"])
    );
    assert_eq!(shown["status"], "200");
    let body = shown["body"].as_str().expect("a body");
    assert!(body.contains("event: reply.delta"), "{body}");
    assert!(body.contains("event: turn.completed"), "{body}");
    api.stop().await;
}
