//! The erasure of everything about a user.

mod stored;

use std::time::{Duration, Instant};

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    files::upload,
    script::scripted,
    user_tokens::{BACKEND, backend, user},
};

/// The time in which an erasure of a few conversations ends.
const SOON: Duration = Duration::from_secs(10);
/// A text in all that is stored about the user, and in its id.
const MARK: &str = "zebracrossing";
const USER: &str = "zebracrossing-7";

/// The events of one type.
async fn events(caller: &Caller, kind: &str) -> Vec<Value> {
    let path = format!("/api/events?since=0&limit=100&types={kind}");
    let page = caller.get(&path).await.ok();
    page["data"].as_array().expect("events").clone()
}

/// Waits until so many erasures have ended, and returns the event of the last one.
async fn erased(caller: &Caller, number: usize) -> Value {
    let started = Instant::now();
    loop {
        let events = events(caller, "user.erased").await;
        if events.len() == number {
            return events[number - 1].clone();
        }
        assert!(started.elapsed() < SOON, "{events:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A user with data of every kind.
struct Marked {
    api: ApiServer,
    admin: Caller,
    backend: Caller,
    user: Caller,
    /// The user's conversations.
    conversations: Vec<String>,
}

impl Marked {
    async fn start(builder: ApiServerBuilder) -> Self {
        let api = builder.start().await;
        let (_, backend) = backend(&api, BACKEND).await;
        let admin = api.writer();
        let content = json!({"name": MARK, "context": MARK, "metadata": {MARK: MARK}});
        let path = format!("/api/users?userId={USER}");
        admin.put(&path, content).await.created();
        let user = user(&api, &backend, USER).await;
        let agent = api.agent_id().await;
        let mut conversations = Vec::new();
        for number in 0..4 {
            let text = format!("{MARK}-{number}");
            let chat =
                json!({"agentId": agent, "message": text, "title": MARK, "clientMessageId": MARK});
            let chat = user.request("POST", "/api/chat").json(&chat);
            let chat = chat.header("Idempotency-Key", &text).send().await.ok();
            let conversation = chat["conversationId"].as_str().expect("an id").to_owned();
            let path = format!("/api/conversations/{conversation}");
            let change = json!({"context": MARK, "metadata": {MARK: MARK}});
            backend.patch(&path, change).await.ok();
            let named = format!("attachment; filename={MARK}.txt");
            let named = [("Content-Disposition", &*named)];
            let file = upload(&backend, MARK.as_bytes(), &named).await.created();
            let note = json!({"content": MARK, "files": [file["id"]], "author": {"name": "Staff"}});
            backend.post(&format!("{path}/notes"), note).await.created();
            let message = json!({"content": MARK});
            backend
                .post(&format!("{path}/messages"), message)
                .await
                .created();
            let rated = chat["messageId"].as_str().expect("an id");
            let rating = json!({"rating": "down", "comment": MARK});
            user.put(&format!("{path}/messages/{rated}/feedback"), rating)
                .await
                .ok();
            conversations.push(conversation);
        }
        let marked = Self {
            api,
            admin,
            backend,
            user,
            conversations,
        };
        marked.move_and_delete().await;
        marked
    }

    /// One conversation is deleted before the erasure, and one has moved to another user, to whom it belongs.
    async fn move_and_delete(&self) {
        let [deleted, moved, ..] = &*self.conversations else {
            panic!("four conversations")
        };
        let path = format!("/api/conversations/{deleted}");
        assert_eq!(self.user.delete(&path).await.status, 204);
        let path = format!("/api/conversations/{moved}");
        let change = json!({"userId": "ada", "title": "T", "context": null, "metadata": {}});
        self.backend.patch(&path, change).await.ok();
    }

    /// Erases the user, and returns the content of the last event.
    async fn erase(&self) -> Value {
        let path = format!("/api/users?userId={USER}");
        let begun = self.admin.delete(&path).await;
        assert_eq!(begun.status, 202, "{}", begun.text());
        let id = begun.json()["erasureId"].clone();
        self.user
            .get("/api/conversations")
            .await
            .problem(ProblemCode::InvalidCredentials);
        assert_eq!(self.admin.get(&path).await.ok()["data"], json!([]));
        let last = erased(&self.admin, 1).await;
        assert_eq!(last["data"]["erasureId"], id);
        last
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_user_can_come_back_but_its_tokens_cannot() {
    let marked = Marked::start(ApiServerBuilder::default()).await;
    marked.erase().await;
    let unauthorized = ProblemCode::InvalidCredentials;
    marked
        .user
        .get("/api/conversations")
        .await
        .problem(unauthorized);
    let back = user(&marked.api, &marked.backend, USER).await;
    assert_eq!(back.get("/api/conversations").await.ok()["data"], json!([]));
    marked
        .user
        .get("/api/conversations")
        .await
        .problem(unauthorized);
    let chat = json!({"agentId": marked.api.agent_id().await, "message": "Hello"});
    let conversation = back.post("/api/chat", chat).await.ok();
    assert!(conversation["conversationId"].is_string());
    marked.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_survives_the_end_of_the_process_and_other_users() {
    let marked = Marked::start(ApiServerBuilder::default()).await;
    let agent = marked.api.agent_id().await;
    let bob = user(&marked.api, &marked.backend, "bob").await;
    let chat = json!({"agentId": agent, "message": "Hello"});
    let of_bob = bob.post("/api/chat", chat).await.ok();
    let path = format!("/api/users?userId={USER}");
    assert_eq!(marked.admin.delete(&path).await.status, 202);
    let Marked {
        api,
        admin: _,
        conversations,
        ..
    } = marked;
    let api = api.restart(ApiServerBuilder::default()).await;
    let admin = api.writer();
    erased(&admin, 1).await;
    let gone = admin
        .get(&format!("/api/conversations/{}", conversations[3]))
        .await;
    gone.problem(ProblemCode::ConversationNotFound);
    let kept = of_bob["conversationId"].as_str().expect("an id");
    admin.get(&format!("/api/conversations/{kept}")).await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_those_who_administer_users_erase_them() {
    let api = ApiServer::start().await;
    let reader = api
        .caller_with_scopes(&[Scope::UserTokensIssue, Scope::ConversationsAll])
        .await;
    let path = "/api/users?userId=ada";
    reader
        .delete(path)
        .await
        .problem(ProblemCode::InsufficientScope);
    let admin = api.writer();
    let missing = admin.delete("/api/users").await;
    assert_eq!(
        missing.faults(),
        [("userId".to_owned(), "required".to_owned())]
    );
    let draft = json!({"context": "Of another tenant"});
    let other = api.other_tenant();
    other.put(path, draft).await.created();
    // Nothing needs to be known of a user.
    let begun = admin.delete(path).await;
    assert_eq!(begun.status, 202);
    id_of(&json!({"id": begun.json()["erasureId"]}));
    assert_eq!(other.get(path).await.ok()["data"][0]["userId"], "ada");
    erased(&admin, 1).await;
    let watcher = api.caller_with_scopes(&[Scope::EventsRead]).await;
    for kind in ["user.updated", "user.erased"] {
        assert_eq!(events(&watcher, kind).await, Vec::<Value>::new(), "{kind}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_an_erased_user_are_not_readable() {
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let marked = Marked::start(builder).await;
    let config = json!({"engine": "scripted"});
    let agents = [
        id_of(
            &marked
                .api
                .agent(json!({"name": "Kept", "config": config}))
                .await,
        ),
        id_of(
            &marked
                .api
                .agent(json!({"name": "Deleted", "config": config}))
                .await,
        ),
    ];
    let mut turns = Vec::new();
    let mut calls = Vec::new();
    for agent in &agents {
        let chat = json!({"agentId": agent, "message": MARK});
        let request = marked.user.request("POST", "/api/chat").json(&chat);
        let begun = request.header("Prefer", "respond-async").send().await;
        assert_eq!(begun.status, 202, "{}", begun.text());
        turns.push(format!("/api/turns/{}", id_of(&begun.json())));
        calls.push(script.next_call().await);
    }
    let deletion = format!("/api/agents/{}", agents[1]);
    assert_eq!(marked.admin.delete(&deletion).await.status, 204);
    marked.admin.get(&turns[1]).await.ok();
    marked.erase().await;
    for turn in &turns {
        marked
            .admin
            .get(turn)
            .await
            .problem(ProblemCode::TurnNotFound);
    }
    drop(calls);
    marked.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_like_that_of_another_principal_erases_nothing_of_it() {
    let marked = Marked::start(ApiServerBuilder::default()).await;
    let agent = marked.api.agent_id().await;
    let chat = json!({"agentId": agent, "message": "charge me"});
    let pay = || {
        let request = marked.backend.request("POST", "/api/chat").json(&chat);
        request.header("Idempotency-Key", "pay").send()
    };
    let first = pay().await.ok();
    let page = events(&marked.admin, "turn.completed").await;
    let actor = page.last().expect("an event")["actor"]
        .as_str()
        .expect("a principal")
        .to_owned();
    assert!(actor.starts_with("key:"), "{actor}");
    for (number, id) in [&*actor, "system", "service"].into_iter().enumerate() {
        let path = format!("/api/users?userId={id}");
        assert_eq!(marked.admin.delete(&path).await.status, 202);
        erased(&marked.admin, number + 1).await;
    }
    assert_eq!(pay().await.ok()["turnId"], first["turnId"]);
    let page = events(&marked.admin, "turn.completed").await;
    assert_eq!(page.last().expect("an event")["actor"], *actor);
    for event in events(&marked.admin, "user.erased").await {
        assert_eq!(event["actor"], "service");
    }
    marked.api.stop().await;
}
