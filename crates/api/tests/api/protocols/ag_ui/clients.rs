//! The official clients, unmodified, with the service as a process of its own.

use serde_json::json;

use crate::child_program::run_with_binary;

#[tokio::test(flavor = "multi_thread")]
async fn http_agent_of_both_versions_works() {
    assert_eq!(
        run_with_binary("ag_ui/http_agent.mjs", &[]).await,
        json!({"ok": true})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn users_answer_interrupts_and_pages_run_tools() {
    let result = run_with_binary("ag_ui/actions.mjs", &[]).await;
    assert_eq!(result, json!({"ok": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn http_agent_reports_a_shutdown_in_mid_reply() {
    assert_eq!(
        run_with_binary("ag_ui/http_agent.mjs", &["drain"]).await,
        json!({"ok": true})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tanstack_ai_resumes() {
    assert_eq!(
        run_with_binary("ag_ui/tanstack.mjs", &[]).await,
        json!({"ok": true})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tanstack_ai_shows_no_half_reply_after_cuts() {
    let counts = run_with_binary("ag_ui/cuts.mjs", &["60"]).await;
    assert_eq!(counts["runs"], 60, "{counts}");
    assert!(counts["cuts"].as_u64() > Some(0), "{counts}");
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

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_examples_work() {
    const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols/ag-ui.md");
    assert_eq!(
        run_with_binary("ag_ui/documented.mjs", &[DOCUMENT]).await,
        json!({"passed": 4, "of": 4})
    );
}
