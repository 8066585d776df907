//! Clients can read rows and documents that a newer version of the service has stored.

use domain::{ProblemCode, Scope, Scopes};
use serde_json::json;
use sqlx::{ConnectOptions as _, sqlite::SqliteConnectOptions};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    event_streams::streamed,
    postgres::Database,
    sockets::client::SocketClient,
};

/// A server, and its database if it is one of Postgres.
struct Shared {
    api: ApiServer,
    database: Option<Database>,
}

impl Shared {
    /// A server on each kind of store.
    async fn both() -> [Self; 2] {
        let database = Database::make().await;
        let builder = ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
        let on_postgres = Self {
            api: builder.start().await,
            database: Some(database),
        };
        let on_sqlite = Self {
            api: ApiServer::start().await,
            database: None,
        };
        [on_postgres, on_sqlite]
    }

    /// The server after a restart, with empty caches.
    async fn restarted(self) -> Self {
        let builder = ApiServerBuilder::default();
        let builder = match &self.database {
            Some(database) => builder.setting("DATABASE_URL", &database.url()),
            None => builder,
        };
        Self {
            api: self.api.restart(builder).await,
            ..self
        }
    }

    /// Executes a statement of the newer version.
    async fn execute(&self, statement: &'static str) {
        if let Some(database) = &self.database {
            let connection = database.options().connect().await;
            let mut connection = connection.expect("the server answers");
            let executed = sqlx::query(statement).execute(&mut connection).await;
            executed.expect("the statement is valid");
        } else {
            let options = SqliteConnectOptions::new().filename(self.api.database_file());
            let mut connection = options.connect().await.expect("the store's file");
            let executed = sqlx::query(statement).execute(&mut connection).await;
            executed.expect("the statement is valid");
        }
    }
}

/// An event of a conversation and one of neither a conversation nor an agent, after the newest.
const EVENTS: [&str; 3] = [
    "insert into events (tenant_id, seq, type, time, agent_id, conversation_id, user_id, turn_id, \
         actor) \
     select e.tenant_id, t.head_seq + 1, 'turn.paused', e.time, e.agent_id, \
         e.conversation_id, e.user_id, e.turn_id, e.actor \
     from events e join tenants t on t.id = e.tenant_id and t.head_seq = e.seq",
    "insert into events (tenant_id, seq, type, time, actor) \
     select e.tenant_id, t.head_seq + 2, 'tenant.paused', e.time, e.actor \
     from events e join tenants t on t.id = e.tenant_id and t.head_seq = e.seq",
    "update tenants set head_seq = head_seq + 2 where head_seq > 0",
];
const CONFIG: &str = "update agents set config = '{\"greeting\": \"Hi\", \
    \"memory\": [{\"name\": \"shop/*\"}], \"llm\": {\"model\": \"m\", \"reasoning\": \"low\"}}'";
const FAILED: &str = "update turns set status = 'failed', error = '{\"type\": \
    \"/problems/action_expired\", \"title\": \"Nobody answered.\", \"status\": 409, \"detail\": \
    \"Ask again.\", \"code\": \"action_expired\", \"retryable\": false, \"action\": 7}'";
const FINISH: &str = "update messages set finish_reason = 'dismissed' where role = 'agent'";
const RESULT: &str = "update idempotency_records set answer = '{\"id\": \
    \"019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11\", \"name\": \"Eva\", \"personality\": \"\", \
    \"capabilities\": [], \"config\": {\"memory\": []}, \"version\": 1, \"createdAt\": \
    \"2026-11-20T09:30:00.000Z\", \"updatedAt\": \"2026-11-20T09:30:00.000Z\", \"draft\": true}'";

#[tokio::test(flavor = "multi_thread")]
async fn unknown_events_are_listed_and_streamed_with_empty_data() {
    for shared in Shared::both().await {
        let api = &shared.api;
        let agent = api.agent_id().await;
        let command = json!({"agentId": agent, "message": "Hello", "userId": "ada"});
        let reply = api.chat(command).await;
        let reader = api.reader();
        let since = reader.get("/api/events?since=0").await.ok()["headSeq"].clone();
        let mut live = streamed(&reader, &format!("since={since}")).await;
        let mut socket = SocketClient::connected(api, &reader, &["tenant"]).await;
        for statement in EVENTS {
            shared.execute(statement).await;
        }
        let page = reader.get(&format!("/api/events?since={since}")).await.ok();
        let (of_turn, of_nothing) = (&page["data"][0], &page["data"][1]);
        assert_eq!(of_turn["type"], "turn.paused");
        assert_eq!(of_turn["conversationId"], reply["conversationId"]);
        assert_eq!(of_turn["turnId"], reply["turnId"]);
        assert_eq!(
            (&of_turn["data"], &of_turn["userId"]),
            (&json!({}), &json!("ada"))
        );
        assert_eq!(of_nothing["type"], "tenant.paused");
        assert_eq!(of_nothing["data"], json!({}));
        for expected in [of_turn, of_nothing] {
            let event = live.next().await.expect("the stream goes on");
            assert_eq!(event.name, expected["type"].as_str().expect("a type"));
            assert_eq!(event.data, *expected);
            assert_eq!(socket.event().await, *expected);
        }
        let known = "/api/events?since=0&types=turn.completed";
        assert_eq!(
            reader.get(known).await.ok()["data"]
                .as_array()
                .map(Vec::len),
            Some(1)
        );
        let agents_only = api
            .caller_with_scopes(&[Scope::AgentsRead, Scope::EventsRead])
            .await;
        let page = agents_only
            .get(&format!("/api/events?since={since}"))
            .await
            .ok();
        assert_eq!(page["data"], json!([]));
        // The tails and the caches go on.
        let again = json!({"agentId": agent, "message": "Hello", "conversationId": reply["conversationId"]});
        api.chat(again).await;
        shared.api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_keeps_members_that_only_a_newer_version_knows() {
    for shared in Shared::both().await {
        let agent = shared.api.agent_id().await;
        shared.execute(CONFIG).await;
        // A change of which no event tells: nothing is cached.
        let shared = shared.restarted().await;
        let api = &shared.api;
        let (writer, path) = (api.writer(), format!("/api/agents/{agent}"));
        let config = writer.get(&format!("{path}/config")).await.ok();
        assert_eq!(config["memory"], json!([{"name": "shop/*"}]));
        let change = json!({"config": {"greeting": "Hello", "llm": {"model": "n"}}});
        let changed = writer.patch(&path, change).await.ok();
        let expected = json!({
            "greeting": "Hello",
            "memory": [{"name": "shop/*"}],
            "llm": {"model": "n", "reasoning": "low"},
        });
        assert_eq!(changed["config"], expected);
        assert_eq!(writer.get(&path).await.ok()["config"], expected);
        for sent in [json!({"memory": []}), json!({"llm": {"reasoning": "low"}})] {
            let problem = writer.patch(&path, json!({"config": sent})).await;
            let problem = problem.problem(ProblemCode::ValidationFailed);
            assert_eq!(problem["errors"][0]["code"], "unknown_member");
        }
        let replaced = writer.put(&format!("{path}/config"), json!({})).await.ok();
        assert_eq!(
            replaced["config"],
            json!({}),
            "a replacement replaces all of it"
        );
        shared.api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_reasons_and_codes_are_shown_as_text() {
    for shared in Shared::both().await {
        let agent = shared.api.agent_id().await;
        let reply = shared
            .api
            .chat(json!({"agentId": agent, "message": "Hello"}))
            .await;
        shared.execute(FAILED).await;
        shared.execute(FINISH).await;
        let shared = shared.restarted().await;
        let api = &shared.api;
        let (reader, id) = (
            api.reader(),
            reply["conversationId"].as_str().expect("an id"),
        );
        let turn = format!("/api/turns/{}", reply["turnId"].as_str().expect("an id"));
        let turn = reader.get(&turn).await.ok();
        assert_eq!(turn["error"]["code"], "action_expired");
        assert_eq!(
            (&turn["error"]["action"], &turn["error"]["status"]),
            (&json!(7), &json!(409))
        );
        assert_eq!(turn["finishReason"], "dismissed");
        let messages = reader
            .get(&format!("/api/conversations/{id}/messages"))
            .await
            .ok();
        let list = messages["data"].as_array().expect("a page");
        let of_user = list
            .iter()
            .find(|it| it["role"] == "user")
            .expect("the message");
        let error =
            json!({"code": "action_expired", "title": "Nobody answered.", "retryable": false});
        assert_eq!(of_user["error"], error);
        let of_agent = list
            .iter()
            .find(|it| it["role"] == "agent")
            .expect("the reply");
        assert_eq!(of_agent["finishReason"], "dismissed");
        shared.api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_gets_the_whole_result_of_a_newer_version() {
    for shared in Shared::both().await {
        let create = || {
            let request = shared.api.writer().request("POST", "/api/agents");
            request
                .header("Idempotency-Key", "once")
                .json(&json!({"name": "Eva"}))
        };
        create().send().await.created();
        shared.execute(RESULT).await;
        let repeated = create().send().await.created();
        assert_eq!(
            (&repeated["draft"], &repeated["config"]),
            (&json!(true), &json!({"memory": []}))
        );
        shared.api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_of_a_newer_version_is_shown_and_grants_nothing() {
    for shared in Shared::both().await {
        let api = &shared.api;
        let names = ["keys:admin", "zones:write"].map(str::to_owned);
        let admin = api
            .caller_with_key(|key| key.scopes = Scopes::read(names.into()))
            .await;
        admin
            .get("/api/agents")
            .await
            .problem(ProblemCode::InsufficientScope);
        let listed = admin.get("/api/keys").await.ok();
        let keys = listed["data"].as_array().expect("a page");
        let newer = keys
            .iter()
            .find(|key| key["scopes"] == json!(["keys:admin", "zones:write"]));
        let newer = id_of(newer.expect("its key is listed"));
        let draft = json!({"name": "x", "scopes": ["zones:write"]});
        admin
            .post("/api/keys", draft)
            .await
            .problem(ProblemCode::ValidationFailed);

        // Its new secret would hold the scope at the newer version.
        let rotate = format!("/api/keys/{newer}/rotate");
        let rejected = api.writer().post(&rotate, json!({})).await;
        let rejected = rejected.problem(ProblemCode::InsufficientScope);
        assert!(
            rejected["detail"]
                .as_str()
                .expect("a detail")
                .contains("zones:write")
        );
        admin.post(&rotate, json!({})).await.ok();
        api.writer().delete(&format!("/api/keys/{newer}")).await;
        let revoked = api.writer().get(&format!("/api/keys/{newer}")).await.ok();
        assert!(
            revoked["revokedAt"].is_string(),
            "revoking it grants nothing"
        );
        shared.api.stop().await;
    }
}
