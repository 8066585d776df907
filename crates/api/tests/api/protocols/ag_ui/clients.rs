//! The official clients, unmodified, with the service as a process of its own.

use serde_json::{Value, json};

use crate::child_program;

async fn run(program: &str, arguments: &[&str]) -> Value {
    let service = env!("CARGO_BIN_EXE_agent-service");
    let arguments = [&[service], arguments].concat();
    child_program::run(&format!("ag_ui/{program}"), &arguments, &Value::Null).await
}

#[tokio::test(flavor = "multi_thread")]
async fn http_agent_of_both_versions_works() {
    assert_eq!(run("http_agent.mjs", &[]).await, json!({"ok": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn http_agent_reports_a_shutdown_in_mid_reply() {
    assert_eq!(run("http_agent.mjs", &["drain"]).await, json!({"ok": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn tanstack_ai_resumes() {
    assert_eq!(run("tanstack.mjs", &[]).await, json!({"ok": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn tanstack_ai_shows_no_half_reply_after_cuts() {
    let counts = run("cuts.mjs", &["60"]).await;
    assert_eq!(counts["runs"], 60);
    for count in [
        "wrongText",
        "wrongCalls",
        "otherTurns",
        "halfShownAsWhole",
        "errors",
    ] {
        assert_eq!(counts[count], 0, "{count}: {counts}");
    }
}
