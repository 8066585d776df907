//! A service that reaches its database through a connection pooler.

use dev_tools::postgres::DurableServer;
use serde_json::json;

use crate::{
    chat_client::key,
    process::{RunningService, folder, refusal, service},
    requests::post,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_with_its_defaults_needs_session_pooling() {
    let folder = folder();
    let (at, key) = (folder.path(), key(folder.path()));
    let server = DurableServer::start().expect("a server");
    server.create("agents").expect("a database");
    let pooler = server.start_pooler("session").expect("a pooler");
    let url = pooler.url("agents");
    let settings = [
        ("SERVER__PORT", "0"),
        ("DATABASE_URL", &*url),
        ("AUTH__BOOTSTRAP_KEY", &*key),
    ];
    let running = RunningService::of(service(at, &["serve"], &settings));
    let agent = post(&running.url, &key, "/api/agents", json!({"name": "Ada"})).await;
    let message = json!({"agentId": agent["id"], "message": "Who are you?"});
    let reply = post(&running.url, &key, "/api/chat", message).await;
    assert!(reply["message"].is_string(), "{reply}");
    running.abort();
    running.wait_for_exit();

    let pooler = server.start_pooler("transaction").expect("a pooler");
    let url = pooler.url("agents");
    for command in ["serve", "migrate"] {
        let refused = refusal(at, &[command], &[("DATABASE_URL", &url)]);
        assert!(refused.contains("pool_mode = session"), "{refused}");
    }
}
