//! The service with the scripted engine.

use scripted_engine::Script;
use serde_json::json;

use crate::{
    process::{RunningService, folder, printed, scripted_service},
    requests::post,
};

#[tokio::test]
async fn the_scripted_service_accepts_the_same_commands_and_follows_scripts() {
    let folder = folder();
    let at = folder.path();
    let scopes = "agents:write,chat:write";
    let create = ["keys", "create", "--name", "ci", "--scopes", scopes];
    let command = scripted_service(at, &create, &[]).output();
    let created = command.expect("the binary starts");
    let stderr = String::from_utf8_lossy(&created.stderr);
    assert!(created.status.success(), "{stderr}");
    let key = String::from_utf8(created.stdout).expect("UTF-8");
    assert!(printed(at, &["keys", "list"]).contains("ci"));

    let serve = scripted_service(at, &["serve"], &[("SERVER__PORT", "0")]);
    let running = RunningService::of(serve);
    for engine in ["scripted", "rules"] {
        let draft = json!({"name": "Ada", "config": {"engine": engine}});
        let agent = post(&running.url, key.trim_end(), "/api/agents", draft).await;
        let script = Script::words(3);
        let question = json!({"agentId": agent["id"], "message": script.to_message()});
        let reply = post(&running.url, key.trim_end(), "/api/chat", question).await;
        assert_eq!(reply["engine"], engine);
        assert_eq!(reply["message"] == script.text(), engine == "scripted");
    }
}
