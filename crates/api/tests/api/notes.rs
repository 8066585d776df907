//! Notes of staff.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    user_tokens::{BACKEND, backend, user},
};

async fn types(caller: &Caller) -> Vec<Value> {
    let log = caller.get("/api/events?since=0").await.ok();
    let events = log["data"].as_array().expect("events").iter();
    events.map(|event| event["type"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_notes_what_nobody_else_sees() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let made = api
        .conversation(json!({"agentId": agent, "userId": "ada"}))
        .await;
    let (writer, path) = (
        api.writer(),
        format!("/api/conversations/{}/notes", id_of(&made)),
    );
    let draft = json!({"content": "Promised a call back.", "author": {"name": "Grace"}});
    let send = || {
        let request = writer.request("POST", &path);
        request.header("Idempotency-Key", "k-1").json(&draft)
    };
    let note = send().send().await.created();
    let shown = ["content", "author", "conversationId"];
    let author = json!({"name": "Grace", "avatarUrl": null, "kind": "staff"});
    let expected = json!(["Promised a call back.", author, made["id"]]);
    assert_eq!(json!(shown.map(|member| &note[member])), expected);
    let again = send().send().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.created(), note);
    let second = writer.post(&path, json!({"content": "Done."})).await;
    let second = second.created();
    let page = api.reader().get(&format!("{path}?limit=1")).await.ok();
    assert_eq!(page["data"], json!([second]));
    let cursor = page["nextCursor"].as_str().expect("there is more");
    let rest = api.reader().get(&format!("{path}?cursor={cursor}")).await;
    assert_eq!(rest.ok()["data"], json!([note]));

    let messages = format!("/api/conversations/{}/messages", id_of(&made));
    assert_eq!(api.reader().get(&messages).await.ok()["data"], json!([]));
    let one = format!("{path}/{}", id_of(&note));
    assert_eq!(writer.delete(&one).await.status, 204);
    writer.delete(&one).await.problem(ProblemCode::NoteNotFound);
    send().send().await.problem(ProblemCode::NoteNotFound);
    let page = api.reader().get(&path).await.ok();
    assert_eq!(page["data"], json!([second]));
    let written = types(&writer).await;
    let expected = ["note.created", "note.created", "note.deleted"];
    assert_eq!(written[written.len() - 3..], expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_neither_read_nor_write_notes() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let made = api
        .conversation(json!({"agentId": agent, "userId": "ada"}))
        .await;
    let path = format!("/api/conversations/{}/notes", id_of(&made));
    let draft = json!({"content": "Ada is angry."});
    let note = api.writer().post(&path, draft.clone()).await.created();
    let one = format!("{path}/{}", id_of(&note));
    for rejected in [
        ada.get(&path).await,
        ada.post(&path, draft.clone()).await,
        ada.delete(&one).await,
    ] {
        rejected.problem(ProblemCode::InsufficientScope);
    }
    let types = types(&ada).await;
    let is_note = |kind: &Value| kind.as_str().is_some_and(|it| it.starts_with("note."));
    assert!(!types.is_empty() && !types.iter().any(is_note), "{types:?}");
    for content in ["", " \u{2003}"] {
        let rejected = api.writer().post(&path, json!({"content": content})).await;
        let expected = [("/content".to_owned(), "too_short".to_owned())];
        assert_eq!(rejected.faults(), expected);
    }
    let elsewhere = path.replace(&id_of(&made), &id_of(&note));
    let missing = api.reader().get(&elsewhere).await;
    missing.problem(ProblemCode::ConversationNotFound);
    api.stop().await;
}
