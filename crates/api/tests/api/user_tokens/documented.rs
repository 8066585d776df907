//! The Python backend of the documentation.

use serde_json::json;

use super::{BACKEND, backend};
use crate::{api_server::ApiServer, child_program};

const DOCUMENT: &str = include_str!("../../../../../docs/frontend.md");

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_backend_issues_a_token() {
    let source = DOCUMENT.split("```python\n").nth(1).expect("Python");
    let source = source.split("```").next().expect("its end");
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let order = json!({
        "source": source, "service": format!("http://{}", api.address),
        "key": backend.key(), "user": "grace",
    });
    let issued = child_program::run("frontend_client.py", &[], &order).await;
    assert_eq!(issued["expiresIn"], 3_600);
    let grace = api.caller(issued["token"].as_str());
    grace.get("/api/conversations").await.ok();
    api.stop().await;
}
