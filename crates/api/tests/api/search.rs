//! The search in conversations.

use std::time::{Duration, Instant};

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    user_tokens::{BACKEND, backend, token, user},
};

/// The time in which a text can be found.
const SOON: Duration = Duration::from_secs(10);

/// Two users with conversations, and a backend.
struct Shop {
    api: ApiServer,
    backend: Caller,
    ada: Caller,
    bob: Caller,
    agent: String,
}

impl Shop {
    async fn open() -> Self {
        let api = ApiServer::start().await;
        let (_, backend) = backend(&api, BACKEND).await;
        let ada = user(&api, &backend, "ada").await;
        let bob = user(&api, &backend, "bob").await;
        let agent = api.agent_id().await;
        Self {
            api,
            backend,
            ada,
            bob,
            agent,
        }
    }

    /// Sends a message to a new conversation, and returns its id.
    async fn chat(&self, caller: &Caller, text: &str) -> String {
        let body = json!({"agentId": self.agent, "message": text});
        let chat = caller.post("/api/chat", body).await.ok();
        id_in(&chat, "conversationId")
    }

    /// Waits until everything that has happened can be found.
    async fn indexed(&self) {
        let head = self.api.writer().get("/api/events?limit=1").await.ok()["nextSince"].clone();
        let head = head.as_i64().expect("a position");
        let started = Instant::now();
        loop {
            let page = self.backend.get("/api/conversations?q=anything").await.ok();
            if page["searchedTo"].as_i64().is_some_and(|to| to >= head) {
                return;
            }
            assert!(started.elapsed() < SOON, "{page}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn id_in(value: &Value, member: &str) -> String {
    value[member].as_str().expect("an id").to_owned()
}

/// Searches, and returns the ids of the conversations.
async fn find(caller: &Caller, query: &str) -> Vec<String> {
    let path = format!("/api/conversations?q={query}");
    let page = caller.get(&path).await.ok();
    let found = page["data"].as_array().expect("conversations").iter();
    found.map(|it| id_in(it, "id")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_found_by_their_messages_and_titles() {
    let shop = Shop::open().await;
    let first = shop.chat(&shop.ada, "Where is my broken PARCEL?").await;
    let second = shop
        .chat(&shop.ada, "A parcel has come\nwith 東京タワー")
        .await;
    let path = format!("/api/conversations/{first}");
    let title = json!({"title": "Letters & postcards"});
    shop.backend.patch(&path, title).await.ok();
    shop.indexed().await;
    assert_eq!(
        find(&shop.ada, "parcel").await,
        [second.clone(), first.clone()]
    );
    assert_eq!(find(&shop.ada, "Broken%20parcel").await, [&*first]);
    assert_eq!(find(&shop.ada, "%E4%BA%AC%E3%82%BF").await, [&*second]);
    assert!(find(&shop.ada, "parcel%20nowhere").await.is_empty());
    assert!(find(&shop.ada, "%22").await.is_empty());

    let page = shop.ada.get("/api/conversations?q=come").await.ok();
    let messages = format!("/api/conversations/{second}/messages");
    let messages = shop.ada.get(&messages).await.ok();
    let expected = json!({
        "messageId": messages["data"][0]["id"],
        "snippet": "A parcel has come with 東京タワー",
    });
    assert_eq!(page["data"][0]["match"], expected);
    assert_eq!(
        (&page["hasMore"], &page["nextCursor"]),
        (&json!(false), &Value::Null)
    );
    let page = shop.ada.get("/api/conversations?q=POSTCARDS").await.ok();
    let expected = json!({"messageId": null, "snippet": "Letters & postcards"});
    assert_eq!(page["data"][0]["match"], expected);
    let listed = shop.ada.get("/api/conversations").await.ok();
    assert_eq!(listed.get("searchedTo"), None);
    assert_eq!(listed["data"][0].get("match"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_what_its_caller_may_read() {
    let shop = Shop::open().await;
    let of_ada = shop.chat(&shop.ada, "My secret parcel").await;
    let of_bob = shop.chat(&shop.bob, "My secret parcel").await;
    let other = shop.api.agent_id().await;
    shop.indexed().await;
    assert_eq!(find(&shop.ada, "secret").await, [&*of_ada]);
    assert_eq!(find(&shop.bob, "secret").await, [&*of_bob]);
    let all = [of_bob.clone(), of_ada.clone()];
    assert_eq!(find(&shop.backend, "secret").await, all);
    let of_user = format!("secret&userId=ada&agentId={}", shop.agent);
    assert_eq!(find(&shop.backend, &of_user).await, [&*of_ada]);
    assert!(
        find(&shop.backend, &format!("secret&agentId={other}"))
            .await
            .is_empty()
    );
    let foreign = shop.ada.get("/api/conversations?q=secret&userId=bob").await;
    foreign.problem(ProblemCode::ValidationFailed);
    let draft = json!({"userId": "ada", "scopes": &BACKEND[1..], "agentIds": [other]});
    let confined = token(&shop.backend, draft).await;
    let confined = shop.api.caller(Some(&confined));
    assert!(find(&confined, "secret").await.is_empty());

    // To whom a conversation belongs is judged when it is read, also before the index knows.
    let path = format!("/api/conversations/{of_ada}");
    shop.backend
        .patch(&path, json!({"userId": "bob"}))
        .await
        .ok();
    assert!(find(&shop.ada, "secret").await.is_empty());
    shop.indexed().await;
    assert_eq!(find(&shop.bob, "secret").await, all);
    assert_eq!(shop.backend.delete(&path).await.status, 204);
    assert_eq!(find(&shop.bob, "secret").await, [of_bob]);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_were_replaced_or_changed_are_not_found() {
    let shop = Shop::open().await;
    let conversation = shop.chat(&shop.ada, "A green parcel").await;
    let path = format!("/api/conversations/{conversation}/messages");
    let messages = shop.ada.get(&path).await.ok();
    let edit = json!({
        "conversationId": conversation,
        "message": "A yellow parcel",
        "supersedes": messages["data"][0]["id"],
    });
    shop.ada.post("/api/chat", edit).await.ok();
    let staff = json!({"content": "Our blue parcel"});
    let staff = id_of(&shop.backend.post(&path, staff).await.created());
    shop.indexed().await;
    assert!(find(&shop.ada, "green").await.is_empty());
    assert_eq!(find(&shop.ada, "yellow").await, [&*conversation]);
    assert_eq!(find(&shop.ada, "blue").await, [&*conversation]);
    let message = format!("{path}/{staff}");
    let change = json!({"content": "Our red parcel"});
    shop.backend.patch(&message, change).await.ok();
    shop.indexed().await;
    assert!(find(&shop.ada, "blue").await.is_empty());
    assert_eq!(find(&shop.ada, "red").await, [&*conversation]);
    assert_eq!(shop.backend.delete(&message).await.status, 204);
    assert!(find(&shop.ada, "red").await.is_empty());
    let note = json!({"content": "A purple note"});
    let notes = format!("/api/conversations/{conversation}/notes");
    shop.backend.post(&notes, note).await.created();
    let fork = json!({"forkOf": {"conversationId": conversation}});
    let fork = id_of(&shop.ada.post("/api/conversations", fork).await.created());
    shop.indexed().await;
    assert!(find(&shop.backend, "purple").await.is_empty());
    let mut found = find(&shop.ada, "yellow").await;
    found.sort_unstable();
    let mut expected = [conversation, fork];
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_conversation_is_found_once_over_pages() {
    let shop = Shop::open().await;
    let mut expected = Vec::new();
    for _ in 0..5 {
        expected.push(shop.chat(&shop.ada, "one parcel").await);
    }
    for conversation in expected.iter().take(3).rev() {
        let body = json!({"conversationId": conversation, "message": "another parcel"});
        shop.ada.post("/api/chat", body).await.ok();
    }
    shop.indexed().await;
    let mut found = Vec::new();
    let mut path = "/api/conversations?q=parcel&limit=2".to_owned();
    loop {
        let page = shop.ada.get(&path).await.ok();
        let data = page["data"].as_array().expect("conversations");
        found.extend(data.iter().map(|it| id_in(it, "id")));
        let Some(cursor) = page["nextCursor"].as_str() else {
            break;
        };
        assert_eq!(page["hasMore"], true);
        path = format!("/api/conversations?q=parcel&limit=2&cursor={cursor}");
    }
    expected.swap(3, 4);
    assert_eq!(found, expected);
    let other = path.replace("q=parcel", "q=one");
    shop.ada
        .get(&other)
        .await
        .problem(ProblemCode::InvalidCursor);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_has_documented_limits() {
    let shop = Shop::open().await;
    let long = format!("/api/conversations?q={}", "a".repeat(201));
    let refused = ["/api/conversations?q=", &long];
    for path in refused {
        shop.ada
            .get(path)
            .await
            .problem(ProblemCode::ValidationFailed);
    }
    let combined = format!("/api/conversations?q=a&agentId={}&key=x", shop.agent);
    shop.ada
        .get(&combined)
        .await
        .problem(ProblemCode::ValidationFailed);
    assert!(find(&shop.ada, &"a".repeat(200)).await.is_empty());
    let waiting = shop.ada.get("/api/conversations?q=a&waiting=true").await;
    waiting.problem(ProblemCode::InsufficientScope);
    assert!(find(&shop.backend, "a&handledBy=staff").await.is_empty());
}
