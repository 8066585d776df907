//! The official client, unmodified, with the service as a process of its own.

use serde_json::Value;

use crate::child_program::run_with_binary;

/// The program fails unless all cases pass; this checks that they ran.
fn assert_passed(result: &Value, cases: u64) {
    assert_eq!(result["passed"], cases, "{result}");
    assert_eq!(result["of"], cases, "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_of_version_6_work() {
    assert_passed(&run_with_binary("ai_sdk/chats.mjs", &["6"]).await, 19);
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_of_version_7_work() {
    assert_passed(&run_with_binary("ai_sdk/chats.mjs", &["7"]).await, 19);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_approve_calls_and_pages_run_tools() {
    for version in ["6", "7"] {
        assert_passed(&run_with_binary("ai_sdk/actions.mjs", &[version]).await, 11);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_over_websocket_work() {
    assert_passed(&run_with_binary("ai_sdk/sockets.mjs", &[]).await, 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_half_reply_is_shown_after_cuts() {
    for version in ["6", "7"] {
        let counts = run_with_binary("ai_sdk/cuts.mjs", &[version, "40"]).await;
        assert_eq!(counts["runs"], 40, "{counts}");
        assert!(counts["cuts"].as_u64() > Some(0), "{counts}");
        for count in ["halfShownAsWhole", "otherText", "otherTurns"] {
            assert_eq!(counts[count], 0, "{count}: {counts}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_examples_work() {
    const DOCUMENT: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/protocols/ai-sdk.md"
    );
    for version in ["6", "7"] {
        let result = run_with_binary("ai_sdk/documented.mjs", &[DOCUMENT, version]).await;
        assert_passed(&result, 6);
    }
}
