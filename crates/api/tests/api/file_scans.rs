//! Scans of files.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use dev_tools::clamd_server::{ClamdProcess, MARKER};
use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::{ApiServerBuilder, id_of},
    files::upload,
};

#[tokio::test(flavor = "multi_thread")]
async fn files_in_which_the_scanner_finds_something_are_rejected() {
    let clamd = ClamdProcess::start(1 << 20).expect("clamd");
    let address = format!("tcp://{}", clamd.place());
    let api = ApiServerBuilder::default()
        .setting("FILES__SCAN", &address)
        .start()
        .await;
    let writer = api.writer();
    let agent = id_of(&api.agent(json!({"name": "Ada"})).await);
    let infected = format!("Dear Ada, {MARKER}.");
    let scan = async |content: &str| {
        let headers = [("Content-Type", "text/plain")];
        upload(&writer, content.as_bytes(), &headers).await
    };
    let chat = |content: &str| {
        let url = format!("data:text/plain;base64,{}", STANDARD.encode(content));
        let part = json!({"type": "file", "mediaType": "text/plain", "url": url});
        let message = json!({"id": "m", "role": "user", "parts": [part]});
        let body = json!({"id": "c", "messages": [message]});
        let path = format!("/ai-sdk/agents/{agent}/chat");
        writer.request("POST", &path).json(&body)
    };

    scan("A clean text.").await.created();
    scan(&infected).await.problem(ProblemCode::FileRejected);
    let refused = chat(&infected).open().await;
    assert_eq!(refused.status(), 422);
    let text = refused.text().await.expect("a whole body");
    assert!(
        text.contains("file_rejected") && text.contains("/messages/0/parts/0"),
        "{text}"
    );
    assert_eq!(chat("A clean text.").open().await.status(), 200);

    drop(clamd);
    scan("Another text.")
        .await
        .problem(ProblemCode::FilesUnavailable);
    assert_eq!(chat("Another text.").open().await.status(), 503);
    api.stop().await;
}
