//! The erasure of everything about a user: nothing of it is left, neither in answers nor in the store.

use std::time::{Duration, Instant};

use domain::{ProblemCode, Scope, Timestamp};
use ports::RetentionCutoffs;
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Row as _};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    postgres::Database,
    script::scripted,
    user_tokens::{BACKEND, backend, user},
};

/// The time in which an erasure of a few conversations ends.
const SOON: Duration = Duration::from_secs(10);
/// A text in all that is stored about the user, and in its id.
const MARK: &str = "zebracrossing";
const USER: &str = "zebracrossing-7";

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
            let note = json!({"content": MARK, "author": {"name": "Staff"}});
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
        let started = Instant::now();
        loop {
            let page = self.events("user.erased").await;
            if let [last] = &*page {
                assert_eq!(last["data"]["erasureId"], id);
                return last.clone();
            }
            assert!(started.elapsed() < SOON, "{page:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn events(&self, types: &str) -> Vec<Value> {
        let path = format!("/api/events?since=0&limit=100&types={types}");
        let page = self.admin.get(&path).await.ok();
        page["data"].as_array().expect("events").clone()
    }

    /// Waits until the index of the search has seen the end.
    async fn indexed(&self, to: &Value) {
        let started = Instant::now();
        loop {
            let page = self.admin.get("/api/conversations?q=anything").await.ok();
            if page["searchedTo"].as_i64() >= to["seq"].as_i64() {
                return;
            }
            assert!(started.elapsed() < SOON, "{page}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Removes what is deleted, as the purge does within the configured time.
    async fn purge(&self) {
        let maintenance = &self.api.storage.maintenance;
        let now = maintenance
            .now()
            .await
            .expect("the store answers")
            .milliseconds();
        let before = |age: Duration| {
            let age = i64::try_from(age.as_millis()).expect("a time");
            Timestamp::from_milliseconds(now - age)
        };
        let cutoffs = RetentionCutoffs {
            deleted_before: before(Duration::from_hours(12)),
            records_before: before(Duration::from_hours(24)),
            ended_before: before(Duration::ZERO),
        };
        while maintenance
            .purge(500, cutoffs)
            .await
            .expect("the store answers")
            > 0
        {}
        maintenance.compact().await.expect("the store answers");
    }
}

/// Erases the user, and checks what the interface shows.
async fn erase(marked: &Marked) {
    let before = marked.events("conversation.deleted").await;
    assert_eq!(before.len(), 1);
    let last = marked.erase().await;
    // The one that was deleted before is not counted, and the one that has moved belongs to another user.
    let counts = json!({"conversations": 2, "messages": 6});
    assert_eq!(last["data"]["counts"], counts);
    assert_eq!(last["actor"], "service");
    assert_eq!(last.get("userId"), None);
    let deleted = marked.events("conversation.deleted").await;
    assert_eq!(deleted.len(), 3);
    let updates = marked.events("user.updated").await;
    let content: Vec<_> = updates.iter().map(|event| &event["data"]).collect();
    assert_eq!(
        content,
        [&json!({"deleted": true}), &json!({"deleted": true})]
    );
    for number in [0, 2, 3] {
        let path = format!("/api/conversations/{}", marked.conversations[number]);
        let gone = marked.backend.get(&path).await;
        gone.problem(ProblemCode::ConversationNotFound);
    }
    let moved = format!("/api/conversations/{}", marked.conversations[1]);
    assert_eq!(marked.backend.get(&moved).await.ok()["userId"], "ada");
    marked.indexed(&last).await;
    let all = marked
        .admin
        .get("/api/events?since=0&limit=100")
        .await
        .ok()
        .to_string();
    let user = all.matches(USER).count();
    assert_eq!(user, 0, "{all}");
}

/// Replaces what has the mark in the conversation that belongs to another user now.
async fn delete_moved(marked: &Marked) {
    let path = format!("/api/conversations/{}", marked.conversations[1]);
    assert_eq!(marked.backend.delete(&path).await.status, 204);
    let second = json!({"context": "none"});
    marked
        .admin
        .put("/api/users?userId=ada", second)
        .await
        .created();
    let path = "/api/users?userId=ada";
    let begun = marked.admin.delete(path).await;
    assert_eq!(begun.status, 202);
    let started = Instant::now();
    loop {
        let events = marked.events("user.erased").await;
        if let [_, last] = &*events {
            marked.indexed(last).await;
            return;
        }
        assert!(started.elapsed() < SOON);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_an_erased_user_is_left_in_the_files_of_sqlite() {
    let marked = Marked::start(ApiServerBuilder::default()).await;
    let file = marked.api.database_file();
    let folder = file.parent().expect("a folder").to_owned();
    let count = || {
        let files = std::fs::read_dir(&folder).expect("the folder of the store");
        let contents = files.map(|file| std::fs::read(file.expect("a file").path()));
        let found = contents.map(|content| {
            let content = content.expect("a file").to_ascii_lowercase();
            let windows = content.windows(MARK.len());
            windows.filter(|window| *window == MARK.as_bytes()).count()
        });
        found.sum::<usize>()
    };
    assert!(count() > 20);
    erase(&marked).await;
    delete_moved(&marked).await;
    marked.purge().await;
    assert_eq!(count(), 0);
    marked.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_an_erased_user_is_left_in_the_tables_of_postgres() {
    let database = Database::make().await;
    let builder = ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
    let marked = Marked::start(builder).await;
    assert!(marks_in(&database).await.len() > 5);
    erase(&marked).await;
    delete_moved(&marked).await;
    marked.purge().await;
    assert_eq!(marks_in(&database).await, Vec::<String>::new());
    marked.api.stop().await;
}

/// The tables with rows that contain the mark, as a dump shows them, and the statistics.
async fn marks_in(database: &Database) -> Vec<String> {
    let mut connection = database
        .options()
        .connect()
        .await
        .expect("the server answers");
    let tables = "select quote_ident(table_name) from information_schema.tables \
        where table_schema = 'public' union all select 'pg_stats'";
    let tables = sqlx::query(tables).fetch_all(&mut connection).await;
    let mut found = Vec::new();
    for table in tables.expect("tables") {
        let table: String = table.get(0);
        let count = format!("select count(*) from {table} t where t::text ilike '%{MARK}%'");
        let count = sqlx::query_scalar(sqlx::AssertSqlSafe(count));
        let count: i64 = count.fetch_one(&mut connection).await.expect("a count");
        if count > 0 {
            found.push(table);
        }
    }
    found
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
    let started = Instant::now();
    loop {
        let page = admin
            .get("/api/events?since=0&limit=100&types=user.erased")
            .await
            .ok();
        if page["data"]
            .as_array()
            .is_some_and(|events| events.len() == 1)
        {
            break;
        }
        assert!(started.elapsed() < SOON, "{page}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
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
    let page = marked.events("turn.completed").await;
    let actor = page.last().expect("an event")["actor"]
        .as_str()
        .expect("a principal")
        .to_owned();
    assert!(actor.starts_with("key:"), "{actor}");
    for (number, id) in [&*actor, "system", "service"].into_iter().enumerate() {
        let path = format!("/api/users?userId={id}");
        assert_eq!(marked.admin.delete(&path).await.status, 202);
        let started = Instant::now();
        while marked.events("user.erased").await.len() <= number {
            assert!(started.elapsed() < SOON, "{id}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert_eq!(pay().await.ok()["turnId"], first["turnId"]);
    let page = marked.events("turn.completed").await;
    assert_eq!(page.last().expect("an event")["actor"], *actor);
    for event in marked.events("user.erased").await {
        assert_eq!(event["actor"], "service");
    }
    marked.api.stop().await;
}
