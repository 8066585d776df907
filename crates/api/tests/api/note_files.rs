//! Files of notes.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    files::{PNG, photo, upload},
    response::ApiResponse,
    user_tokens::{BACKEND, backend, user},
};

/// A conversation of Ada.
async fn of_ada(api: &ApiServer) -> String {
    let draft = json!({"agentId": api.agent_id().await, "userId": "ada"});
    id_of(&api.conversation(draft).await)
}

fn notes_of(conversation: &str) -> String {
    format!("/api/conversations/{conversation}/notes")
}

/// A text file that the caller uploads.
async fn text(caller: &Caller) -> String {
    let declared = [("Content-Type", "text/plain")];
    id_of(&upload(caller, b"She is angry.", &declared).await.created())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_has_files() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let conversation = of_ada(&api).await;
    let (path, file) = (notes_of(&conversation), id_of(&photo(&writer).await));
    let draft = json!({"files": [file]});
    let send = || {
        let request = writer.request("POST", &path);
        request.header("Idempotency-Key", "k-1").json(&draft)
    };
    let note = send().send().await.created();
    let shown = json!([{
        "id": file, "name": "my photo.png", "mediaType": "image/png", "bytes": PNG.len(),
    }]);
    assert_eq!((&note["content"], &note["files"]), (&json!(""), &shown));
    let again = send().send().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.created(), note);
    let plain = writer.post(&path, json!({"content": "Done."})).await;
    let plain = plain.created();
    assert_eq!(plain["files"], json!([]));
    let page = api.reader().get(&path).await.ok();
    assert_eq!(page["data"], json!([plain, note]));

    let stored = format!("/api/files/{file}");
    assert!(writer.get(&stored).await.ok()["expiresAt"].is_null());
    let refused = writer.delete(&stored).await;
    refused.problem(ProblemCode::FileInUse);
    let elsewhere = notes_of(&of_ada(&api).await);
    let refused = writer.post(&elsewhere, draft.clone()).await;
    refused.problem(ProblemCode::FileInUse);
    let second = json!({"content": "Look again.", "files": [file]});
    let second = id_of(&writer.post(&path, second).await.created());
    let delete = async |note: &str| {
        let deleted = writer.delete(&format!("{path}/{note}")).await;
        assert_eq!(deleted.status, 204);
    };
    delete(&id_of(&note)).await;
    writer.get(&stored).await.ok();
    delete(&second).await;
    let gone = writer.get(&format!("{stored}/content")).await;
    gone.problem(ProblemCode::FileNotFound);
    let gone = send().send().await;
    gone.problem(ProblemCode::NoteNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_with_malformed_files_is_rejected() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let path = notes_of(&of_ada(&api).await);
    let file = text(&writer).await;
    let nine: Vec<_> = (0..9).map(|number| format!("file-{number}")).collect();
    for (draft, code) in [
        (json!({}), ProblemCode::ValidationFailed),
        (json!({"files": []}), ProblemCode::ValidationFailed),
        (json!({"files": nine}), ProblemCode::ValidationFailed),
        (
            json!({"files": [file, file]}),
            ProblemCode::ValidationFailed,
        ),
        (json!({"files": ["x"]}), ProblemCode::FileNotFound),
        (json!({"files": [path]}), ProblemCode::FileNotFound),
    ] {
        writer.post(&path, draft).await.problem(code);
    }
    let (_, backend) = backend(&api, BACKEND).await;
    let of_ada = text(&user(&api, &backend, "ada").await).await;
    let refused = writer.post(&path, json!({"files": [of_ada]})).await;
    refused.problem(ProblemCode::FileNotFound);
    let page = api.reader().get(&path).await.ok();
    assert_eq!(page["data"], json!([]));
    api.stop().await;
}

async fn link_to(caller: &Caller, file: &str) -> ApiResponse {
    let path = format!("/api/files/{file}/link");
    caller.request("POST", &path).send().await
}

/// Requires that nothing about a file exists for the caller.
async fn cannot_see(caller: &Caller, file: &str) {
    let path = format!("/api/files/{file}");
    for response in [
        caller.get(&path).await,
        caller.get(&format!("{path}/content")).await,
        link_to(caller, file).await,
        caller.delete(&path).await,
    ] {
        response.problem(ProblemCode::FileNotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_reads_notes_reads_their_files() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let (writer, conversation) = (api.writer(), of_ada(&api).await);
    let file = text(&writer).await;
    let note = json!({"content": "See the letter.", "files": [file]});
    writer.post(&notes_of(&conversation), note).await.created();
    let path = format!("/api/files/{file}/content");
    for reader in [&writer, &api.reader(), &backend] {
        let read = reader.get(&path).await;
        assert_eq!((read.status, &*read.body), (200, &b"She is angry."[..]));
    }
    for stranger in [
        &user(&api, &backend, "ada").await,
        &user(&api, &backend, "bob").await,
        &api.caller_with_scopes(&[Scope::ChatWrite]).await,
        &api.other_tenant(),
    ] {
        cannot_see(stranger, &file).await;
    }
    let for_user = writer.request("GET", &path).header("X-User-Id", "ada");
    let hidden = for_user.send().await;
    hidden.problem(ProblemCode::FileNotFound);
    // A link of staff needs no credential.
    let link = link_to(&writer, &file).await.created();
    let link = link["url"].as_str().expect("an address");
    let (_, link) = link.split_once("/api/").expect("a path");
    let read = api.anonymous().get(&format!("/api/{link}")).await;
    assert_eq!((read.status, &*read.body), (200, &b"She is angry."[..]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_chat_takes_a_file_of_a_note() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let (writer, conversation) = (api.writer(), of_ada(&api).await);
    let ada = user(&api, &backend, "ada").await;
    let file = text(&writer).await;
    let note = json!({"files": [file]});
    writer.post(&notes_of(&conversation), note).await.created();
    let chat = json!({"conversationId": conversation, "message": "Hi", "files": [file]});
    let mut named = chat.clone();
    named["userId"] = json!("ada");
    let agent = json!({"name": "Ada", "config": {"allowUnrecorded": true}});
    let agent = id_of(&api.agent(agent).await);
    let unrecorded = |user: Option<&str>| {
        let mut chat = json!({"agentId": agent, "store": false, "message": "Hi", "files": [file]});
        if let Some(user) = user {
            chat["userId"] = json!(user);
        }
        chat
    };
    for (caller, chat) in [
        (&ada, chat.clone()),
        (&ada, unrecorded(None)),
        (&writer, chat),
        (&writer, named),
        (&writer, unrecorded(None)),
        (&writer, unrecorded(Some("ada"))),
    ] {
        let refused = caller.post("/api/chat", chat).await;
        refused.problem(ProblemCode::FileNotFound);
    }
    let messages = format!("/api/conversations/{conversation}/messages");
    assert_eq!(ada.get(&messages).await.ok()["data"], json!([]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_shows_a_file_of_a_note_by_sending_it() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let (writer, conversation) = (api.writer(), of_ada(&api).await);
    let ada = user(&api, &backend, "ada").await;
    let file = text(&writer).await;
    let draft = json!({"content": "", "files": [file]});
    let notes = notes_of(&conversation);
    let note = writer.post(&notes, draft.clone()).await.created();
    cannot_see(&ada, &file).await;
    let messages = format!("/api/conversations/{conversation}/messages");
    let message = writer.post(&messages, draft.clone()).await.created();
    let path = format!("/api/files/{file}");
    ada.get(&path).await.ok();
    // Its forks have the message, and not the note.
    let fork = json!({"forkOf": {"conversationId": conversation, "messageId": message["id"]}});
    let fork = id_of(&api.conversation(fork).await);
    let of_fork = api.reader().get(&notes_of(&fork)).await.ok();
    assert_eq!(of_fork["data"], json!([]));
    let delete = async |path: String| {
        assert_eq!(writer.delete(&path).await.status, 204, "{path}");
    };
    delete(format!("/api/conversations/{fork}")).await;
    delete(format!("{messages}/{}", id_of(&message))).await;
    cannot_see(&ada, &file).await;
    writer.get(&path).await.ok();
    writer.post(&messages, draft).await.created();
    delete(format!("{notes}/{}", id_of(&note))).await;
    ada.get(&path).await.ok();
    delete(format!("/api/conversations/{conversation}")).await;
    cannot_see(&writer, &file).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_notes_are_in_no_event_and_in_no_export_without_notes() {
    let api = ApiServer::start().await;
    let (writer, conversation) = (api.writer(), of_ada(&api).await);
    let file = text(&writer).await;
    let note = json!({"files": [file]});
    let note = writer.post(&notes_of(&conversation), note).await.created();
    let log = writer.get("/api/events?since=0").await;
    assert!(log.text().contains("note.created") && !log.text().contains(&file));
    let admin = api.caller_with_scopes(&[Scope::UsersAdmin]).await;
    let of_user = admin.get("/api/users/export?userId=ada").await;
    let lines = of_user.text().lines().map(serde_json::from_str::<Value>);
    let mut lines = lines.map(|line| line.expect("JSON"));
    let line = lines.find(|line| line["type"] == "note").expect("a note");
    assert_eq!(line["files"], note["files"]);
    let all = writer.get("/api/export").await;
    assert!(all.text().contains(&conversation) && !all.text().contains(&file));
    api.stop().await;
}
