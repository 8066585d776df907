//! Messages of staff.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    engines::scripted_agent,
    files::{PNG, photo},
    user_tokens::{BACKEND, backend, user},
};

/// The contents of a conversation's messages.
async fn contents(api: &ApiServer, conversation: &str) -> Vec<Value> {
    let path = format!("/api/conversations/{conversation}/messages");
    let page = api.reader().get(&path).await.ok();
    let messages = page["data"].as_array().expect("messages");
    messages.iter().map(|it| it["content"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_writes_changes_and_deletes_messages() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let made = api
        .conversation(json!({"agentId": agent, "userId": "ada"}))
        .await;
    let (id, writer) = (id_of(&made), api.writer());
    let path = format!("/api/conversations/{id}/messages");
    let author = json!({"name": "Grace", "avatarUrl": "https://example.org/grace.png"});
    let draft = json!({"content": "Hello!", "author": author, "clientMessageId": "desk-1"});
    let send = || {
        writer
            .request("POST", &path)
            .header("Idempotency-Key", "k-1")
            .json(&draft)
    };
    let written = send().send().await;
    let message = written.created();
    assert_eq!(
        message["author"],
        json!({
            "name": "Grace", "avatarUrl": "https://example.org/grace.png", "kind": "staff",
        })
    );
    let expected = json!(["agent", "Hello!", "desk-1", null, 1]);
    let shown = ["role", "content", "clientMessageId", "turnId", "seq"];
    assert_eq!(json!(shown.map(|member| &message[member])), expected);
    assert_eq!(message.get("engine"), None);
    let again = send().send().await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.created(), message);
    let unnamed = writer
        .post(&path, json!({"content": "Hm."}))
        .await
        .created();
    let expected = json!({"name": "Staff", "avatarUrl": null, "kind": "staff"});
    assert_eq!(unnamed["author"], expected);
    assert_eq!(contents(&api, &id).await, ["Hello!", "Hm."]);

    let one = format!("{path}/{}", id_of(&message));
    let changed = writer
        .patch(&one, json!({"content": "Good day!"}))
        .await
        .ok();
    assert_eq!(changed["content"], "Good day!");
    assert_eq!(writer.patch(&one, json!({})).await.ok(), changed);
    assert_eq!(contents(&api, &id).await, ["Good day!", "Hm."]);
    assert_eq!(writer.delete(&one).await.status, 204);
    writer
        .delete(&one)
        .await
        .problem(ProblemCode::MessageNotFound);
    let gone = writer.patch(&one, json!({"content": "x"})).await;
    gone.problem(ProblemCode::MessageNotFound);
    assert_eq!(contents(&api, &id).await, ["Hm."]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_tell_what_staff_has_written() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let made = api.conversation(json!({"agentId": agent})).await;
    let (id, writer) = (id_of(&made), api.writer());
    let path = format!("/api/conversations/{id}/messages");
    let first = writer
        .post(&path, json!({"content": "Hm."}))
        .await
        .created();
    let unnamed = writer
        .post(&path, json!({"content": "Hm?"}))
        .await
        .created();
    let one = format!("{path}/{}", id_of(&first));
    writer.patch(&one, json!({"content": "Hm!"})).await.ok();
    assert_eq!(writer.delete(&one).await.status, 204);
    let log = writer.get("/api/events?since=0").await;
    let log = log.ok();
    let events = log["data"].as_array().expect("events").iter();
    let of_staff: Vec<_> = events
        .filter(|event| {
            event["type"]
                .as_str()
                .is_some_and(|it| it.starts_with("message."))
        })
        .map(|event| json!([event["type"], event["data"]]))
        .collect();
    assert_eq!(of_staff[0], json!(["message.created", {"deleted": true}]));
    assert_eq!(
        of_staff[1],
        json!(["message.created", {"message": unnamed}])
    );
    let reference = json!({"message": {"id": first["id"], "seq": 1}});
    assert_eq!(of_staff[3], json!(["message.deleted", reference]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_messages_cannot_be_changed() {
    let api = ApiServer::start().await;
    let reply = api
        .chat(json!({"agentId": api.agent_id().await, "message": "Hi"}))
        .await;
    let conversation = reply["conversationId"].as_str().expect("an id");
    for message in [reply["messageId"].as_str().expect("an id"), "nonsense"] {
        let path = format!("/api/conversations/{conversation}/messages/{message}");
        let rejected = api.writer().delete(&path).await;
        rejected.problem(ProblemCode::MessageNotFound);
    }
    let other = api
        .conversation(json!({"agentId": api.agent_id().await}))
        .await;
    let path = format!("/api/conversations/{conversation}/messages");
    let written = api
        .writer()
        .post(&path, json!({"content": "Hm."}))
        .await
        .created();
    let path = format!(
        "/api/conversations/{}/messages/{}",
        id_of(&other),
        id_of(&written)
    );
    let rejected = api.writer().delete(&path).await;
    rejected.problem(ProblemCode::MessageNotFound);
    // Staff cannot have the agent answer in place of the user.
    let supersedes = json!({"conversationId": conversation, "supersedes": written["id"]});
    let rejected = api.writer().post("/api/chat", supersedes).await;
    assert_eq!(
        rejected.faults(),
        [("/supersedes".to_owned(), "not_combinable".to_owned())]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_messages_of_staff_are_rejected() {
    let api = ApiServer::start().await;
    let made = api
        .conversation(json!({"agentId": api.agent_id().await}))
        .await;
    let path = format!("/api/conversations/{}/messages", id_of(&made));
    let insecure = json!({"name": "Grace", "avatarUrl": "http://example.org/grace.png"});
    for (draft, pointer, code) in [
        (json!({}), "/content", "required"),
        (json!({"content": " \u{a0}\n"}), "/content", "too_short"),
        (
            json!({"content": "x".repeat(32_001)}),
            "/content",
            "too_long",
        ),
        (
            json!({"content": "x", "author": {}}),
            "/author/name",
            "required",
        ),
        (
            json!({"content": "x", "author": {"name": " "}}),
            "/author/name",
            "too_short",
        ),
        (
            json!({"content": "x", "author": insecure}),
            "/author/avatarUrl",
            "bad_format",
        ),
        (
            json!({"content": "x", "role": "user"}),
            "/role",
            "unknown_member",
        ),
    ] {
        let rejected = api.writer().post(&path, draft).await;
        assert_eq!(rejected.faults(), [(pointer.to_owned(), code.to_owned())]);
    }
    let unknown = json!({"content": "x"});
    let path = "/api/conversations/0/messages";
    let rejected = api.writer().post(path, unknown).await;
    rejected.problem(ProblemCode::ConversationNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_and_those_who_act_for_them_do_not_write_as_staff() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let made = json!({"agentId": api.agent_id().await, "userId": "ada"});
    let made = api.conversation(made).await;
    let path = format!("/api/conversations/{}/messages", id_of(&made));
    let draft = json!({"content": "I am staff."});
    let rejected = ada.post(&path, draft.clone()).await;
    rejected.problem(ProblemCode::InsufficientScope);
    let for_user = api
        .writer()
        .request("POST", &path)
        .header("X-User-Id", "ada");
    let rejected = for_user.json(&draft).send().await;
    rejected.problem(ProblemCode::InsufficientScope);
    let reader = api.caller_with_scopes(&[Scope::ConversationsRead]).await;
    let rejected = reader.post(&path, draft.clone()).await;
    rejected.problem(ProblemCode::InsufficientScope);
    // The response is that of a conversation that does not exist.
    let eve = user(&api, &backend, "eve").await;
    eve.post(&path, draft.clone())
        .await
        .problem(ProblemCode::ConversationNotFound);
    let written = api.writer().post(&path, draft).await.created();
    let read = ada.get(&path).await.ok();
    assert_eq!(read["data"], json!([written]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_reads_what_staff_has_written() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let made = api.conversation(json!({"agentId": agent})).await;
    let path = format!("/api/conversations/{}/messages", id_of(&made));
    let draft = json!({"content": "We ship on Monday.", "author": {"name": "Grace"}});
    let first = api.writer().post(&path, draft).await.created();
    let chat = || {
        let chat = json!({"conversationId": made["id"], "message": "When?"});
        let writer = api.writer();
        async move { writer.post("/api/chat", chat).await.ok() }
    };
    let (_, history) = tokio::join!(chat(), async {
        let call = script.next_call().await;
        let history = call.request.history.clone();
        call.answer("On Monday.").await;
        history
    });
    let texts: Vec<_> = history
        .iter()
        .map(|it| (&*it.content, it.is_of_staff))
        .collect();
    assert_eq!(texts, [("Grace: We ship on Monday.", true)]);
    // A history that is cached is not used after a change.
    let one = format!("{path}/{}", id_of(&first));
    assert_eq!(api.writer().delete(&one).await.status, 204);
    let (_, history) = tokio::join!(chat(), async {
        let call = script.next_call().await;
        let history = call.request.history.clone();
        call.answer("On Monday.").await;
        history
    });
    let texts: Vec<_> = history.iter().map(|it| &*it.content).collect();
    assert_eq!(texts, ["When?", "On Monday."]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_staff_has_files_that_its_user_reads() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let (writer, agent) = (api.writer(), api.agent_id().await);
    let made = |user: &'static str| api.conversation(json!({"agentId": agent, "userId": user}));
    let (own, other) = (id_of(&made("ada").await), id_of(&made("bob").await));
    let file = id_of(&photo(&writer).await);
    let path = format!("/api/conversations/{own}/messages");
    let draft = json!({"content": "", "files": [file]});
    let message = writer.post(&path, draft.clone()).await.created();
    assert_eq!(message["files"][0]["name"], "my photo.png");
    let page = ada.get(&path).await.ok();
    assert_eq!(page["data"][0]["files"], message["files"]);
    let content = ada.get(&format!("/api/files/{file}/content")).await;
    assert_eq!((content.status, &*content.body), (200, PNG));
    let elsewhere = format!("/api/conversations/{other}/messages");
    let refused = writer.post(&elsewhere, draft).await;
    refused.problem(ProblemCode::FileInUse);
    for (draft, code) in [
        (json!({"content": " "}), ProblemCode::ValidationFailed),
        (
            json!({"content": "Hi", "files": [file, file]}),
            ProblemCode::ValidationFailed,
        ),
        (
            json!({"content": "Hi", "files": ["x"]}),
            ProblemCode::FileNotFound,
        ),
    ] {
        writer.post(&path, draft).await.problem(code);
    }
    let one = format!("{path}/{}", id_of(&message));
    let changed = writer.patch(&one, json!({"content": "Look"})).await.ok();
    assert_eq!(changed["files"], message["files"]);
    let refused = writer.patch(&one, json!({"files": []})).await;
    refused.problem(ProblemCode::ValidationFailed);
    writer.delete(&one).await;
    let gone = ada.get(&format!("/api/files/{file}/content")).await;
    gone.problem(ProblemCode::FileNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_sends_staff_files_that_the_engine_does_not_take() {
    let api = ApiServer::start().await;
    let (writer, agent) = (api.writer(), api.agent_id().await);
    let made = api.conversation(json!({"agentId": agent})).await;
    let (conversation, file) = (id_of(&made), id_of(&photo(&writer).await));
    let chat = json!({"conversationId": conversation, "files": [file]});
    let refused = writer.post("/api/chat", chat.clone()).await;
    refused.problem(ProblemCode::FileTypeNotAccepted);
    let path = format!("/api/conversations/{conversation}");
    writer
        .patch(&path, json!({"handledBy": "staff"}))
        .await
        .ok();
    let sent = writer.post("/api/chat", chat).await.ok();
    assert_eq!(sent["finishReason"], "handed_over");
    let page = api.reader().get(&format!("{path}/messages")).await.ok();
    assert_eq!(page["data"][0]["files"][0]["id"], *file);
    api.stop().await;
}
