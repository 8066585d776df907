//! The files that engines take, and those that agents read.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    files::{PNG, photo, upload},
    postgres::Database,
};

fn with_models() -> ApiServerBuilder {
    ApiServerBuilder::default()
        // No server listens there.
        .setting("LLM__BASE_URL", "http://127.0.0.1:9/v1")
        .setting("LLM__MODEL", "small")
        .setting("LLM__INPUTS", "image,pdf")
        .setting("LLM__FILE_BYTES", "40")
        .setting("LLM__PROVIDERS__OTHER__BASE_URL", "http://127.0.0.1:9/v1")
        .setting("LLM__PROVIDERS__OTHER__MODEL", "large")
        .setting("LLM__PROVIDERS__OTHER__INPUTS", "none")
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_show_the_files_that_they_take() {
    let api = with_models().start().await;
    let engines = api.writer().get("/api/engines").await.ok();
    let inputs = |name: &str| {
        let mut engines = engines["data"].as_array().expect("engines").iter();
        let engine = engines.find(|engine| engine["name"] == name);
        engine.expect("the engine")["inputs"].clone()
    };
    assert_eq!(inputs("llm"), json!(["image", "pdf"]));
    assert_eq!(inputs("other"), json!([]));
    assert_eq!(inputs("rules"), json!([]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_no_more_bytes_of_files_than_a_request_to_a_model() {
    let api = with_models().start().await;
    let (writer, agent) = (api.writer(), api.agent_id().await);
    assert!((21..=40).contains(&PNG.len()), "{}", PNG.len());
    let files = [id_of(&photo(&writer).await), id_of(&photo(&writer).await)];
    let chat = |files: &[String]| json!({"agentId": agent, "message": "Hi", "files": files});
    let refused = writer.post("/api/chat", chat(&files)).await;
    refused.problem(ProblemCode::ValidationFailed);
    let expected = [("/files".to_owned(), "too_large".to_owned())];
    assert_eq!(refused.faults(), expected);
    // One fits, and the engine is asked.
    let failed = writer.post("/api/chat", chat(&files[..1])).await;
    failed.problem(ProblemCode::EngineUnavailable);
    let other = id_of(
        &api.agent(json!({"name": "Bea", "config": {"engine": "other"}}))
            .await,
    );
    let file = id_of(&photo(&writer).await);
    let refused = json!({"agentId": other, "message": "Hi", "files": [file]});
    let refused = writer.post("/api/chat", refused).await;
    refused.problem(ProblemCode::FileTypeNotAccepted);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_reads_the_text_files_of_its_conversation() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let text = upload(
        &writer,
        b"The code is 42.",
        &[("Content-Type", "text/plain")],
    )
    .await;
    let text = id_of(&text.created());
    let other = upload(&writer, b"Secret", &[("Content-Type", "text/plain")]).await;
    let other = id_of(&other.created());
    let call = json!({"tool": "read_file", "arguments": {"id": "{{capture.1}}", "from": 4}});
    let config = json!({
        "rules": [{"pattern": "read (.+)", "call": call, "reply": "{{result}}"}],
        "tools": [{"name": "read_file"}],
    });
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let read = async |id: &str, files: &[&str], conversation: Option<&Value>| {
        let mut chat = json!({"agentId": agent, "message": format!("read {id}"), "files": files});
        if let Some(conversation) = conversation {
            chat = json!({
                "agentId": agent, "message": format!("read {id}"), "conversationId": conversation,
            });
        }
        api.chat(chat).await
    };
    let reply = read(&text, &[&text], None).await;
    let result: Value = serde_json::from_str(reply["message"].as_str().expect("a text"))
        .expect("the result of the tool");
    assert_eq!(result, json!({"text": "code is 42.", "next": null}));
    let conversation = &reply["conversationId"];
    let reply = read(&other, &[], Some(conversation)).await;
    assert!(!reply["message"].to_string().contains("Secret"), "{reply}");
    // Files of staff's messages are those of the conversation, files of notes are not for models.
    let draft = json!({"content": "", "files": [other]});
    let path = format!(
        "/api/conversations/{}",
        conversation.as_str().expect("an id")
    );
    let note = writer.post(&format!("{path}/notes"), draft.clone()).await;
    note.created();
    let reply = read(&other, &[], Some(conversation)).await;
    assert!(!reply["message"].to_string().contains("Secret"), "{reply}");
    let sent = writer.post(&format!("{path}/messages"), draft).await;
    sent.created();
    let reply = read(&other, &[], Some(conversation)).await;
    assert_eq!(reply["message"], r#"{"next":null,"text":"et"}"#);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_of_contents_the_service_is_ready_and_says_so() {
    let database = Database::make().await;
    let builder = ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
    let api = builder.setting("FILES__URL", "").start().await;
    let ready = api.anonymous().get("/readyz?verbose").await.ok();
    assert_eq!(ready["checks"]["files"], "unavailable", "{ready}");
    let capabilities = api.writer().get("/api/capabilities").await.ok();
    let mut capabilities = capabilities["data"].as_array().expect("a list").iter();
    let read_file = capabilities.find(|capability| capability["name"] == "read_file");
    assert_eq!(read_file.expect("the tool")["available"], false);
    api.stop().await;
}
