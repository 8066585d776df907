//! `GET /api/turns`: the turns of all conversations, and their filters.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    user_tokens::{BACKEND, backend, token, user},
};

/// The turns `ada`, `bob` and `other` of these users, the last one with another agent.
struct Turns {
    api: ApiServer,
    backend: Caller,
    agents: [String; 2],
    chats: [Value; 3],
}

impl Turns {
    async fn start() -> Self {
        let api = ApiServer::start().await;
        let (_, backend) = backend(&api, BACKEND).await;
        let other = json!({"name": "Other", "personality": "Kind"});
        let agents = [api.agent_id().await, id_of(&api.agent(other).await)];
        let chat = async |user: &str, agent: &str, page: &str| {
            let metadata = json!({"page": page, "a.b": "c & d"});
            let chat =
                json!({"agentId": agent, "userId": user, "message": "Hello", "metadata": metadata});
            api.chat(chat).await
        };
        let chats = [
            chat("ada", &agents[0], "cart").await,
            chat("bob", &agents[0], "home").await,
            chat("eve", &agents[1], "cart").await,
        ];
        Self {
            api,
            backend,
            agents,
            chats,
        }
    }

    /// The users of the turns that a caller finds, in their order.
    async fn found(&self, caller: &Caller, query: &str) -> Vec<&'static str> {
        let page = caller.get(&format!("/api/turns?{query}")).await.ok();
        let turns = page["data"].as_array().expect("a page").iter();
        let name = |turn: &Value| {
            let users = ["ada", "bob", "eve"];
            let of = |(_, chat): &(&str, &Value)| chat["turnId"] == turn["id"];
            let found = users.into_iter().zip(&self.chats).find(of);
            found.expect("a turn of the test").0
        };
        turns.map(name).collect()
    }

    /// Rates the reply of a turn.
    async fn rate(&self, caller: &Caller, number: usize, rating: Value) {
        let part = |name: &str| self.chats[number][name].as_str().expect("an id").to_owned();
        let (conversation, message) = (part("conversationId"), part("messageId"));
        let path = format!("/api/conversations/{conversation}/messages/{message}/feedback");
        caller.put(&path, rating).await.ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_are_filtered_by_everything_together() {
    let turns = Turns::start().await;
    let (api, [agent, other]) = (&turns.api, &turns.agents);
    let writer = api.writer();
    turns.rate(&writer, 0, json!({"rating": "down"})).await;
    turns
        .rate(&writer, 2, json!({"rating": "up", "userId": "eve"}))
        .await;
    let reader = api.reader();
    let whole = reader.get("/api/turns").await.ok();
    let first = format!("/api/turns/{}", id_of(&whole["data"][0]));
    assert_eq!(whole["data"][0], reader.get(&first).await.ok());
    for (query, expected) in [
        ("", &["eve", "bob", "ada"][..]),
        ("status=completed", &["eve", "bob", "ada"]),
        ("status=open", &[]),
        ("status=requires_action", &[]),
        (&format!("agentId={agent}"), &["bob", "ada"]),
        (&format!("agentId={agent}&userId=bob"), &["bob"]),
        ("agentId=7", &[]),
        ("from=2100-01-01T00:00:00Z", &[]),
        ("to=2100-01-01T00:00:00Z", &["eve", "bob", "ada"]),
        ("metadata.page=cart", &["eve", "ada"]),
        (
            "metadata.page=cart&metadata.a.b=c%20%26%20d&userId=ada",
            &["ada"],
        ),
        ("metadata.page=car", &[]),
        ("rating=up", &["eve"]),
        ("rating=down&metadata.page=cart&status=completed", &["ada"]),
        (&format!("rating=down&agentId={other}"), &[]),
        ("waitingFor=staff", &[]),
        ("waitingFor=user&status=completed&rating=up", &[]),
    ] {
        assert_eq!(turns.found(&reader, query).await, expected, "{query}");
    }
    turns.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_continues_the_same_filters() {
    let turns = Turns::start().await;
    let reader = turns.api.reader();
    let page = reader
        .get("/api/turns?metadata.page=cart&limit=1")
        .await
        .ok();
    assert_eq!(page["hasMore"], true);
    let cursor = page["nextCursor"].as_str().expect("a cursor");
    let next = format!("metadata.page=cart&limit=1&cursor={cursor}");
    assert_eq!(turns.found(&reader, &next).await, ["ada"]);
    for other in ["", "metadata.page=home", "metadata.page=cart&rating=up"] {
        let path = format!("/api/turns?{other}&cursor={cursor}");
        let rejected = reader.get(&path).await;
        rejected.problem(ProblemCode::InvalidCursor);
    }
    for (query, parameter) in [
        ("rating=bad", "rating"),
        ("status=ended", "status"),
        ("waitingFor=nobody", "waitingFor"),
        ("from=yesterday", "from"),
        ("metadata.=x", "metadata."),
        ("handledBy=staff", "handledBy"),
        ("userId=ada&userId=bob", "userId"),
    ] {
        let rejected = reader.get(&format!("/api/turns?{query}")).await;
        assert_eq!(rejected.status, 422, "{query}");
        assert_eq!(rejected.faults()[0].0, parameter, "{query}");
    }
    turns.api.stop().await;
}

/// A user finds its own turns alone, and selects them by what it sees: not by ratings of others.
#[tokio::test(flavor = "multi_thread")]
async fn users_find_their_own_turns_by_what_they_see() {
    let turns = Turns::start().await;
    let ada = user(&turns.api, &turns.backend, "ada").await;
    let writer = turns.api.writer();
    turns.rate(&writer, 0, json!({"rating": "down"})).await;
    turns.rate(&ada, 0, json!({"rating": "up"})).await;
    for (query, expected) in [
        ("", &["ada"][..]),
        ("userId=ada", &["ada"]),
        ("rating=up", &["ada"]),
        ("rating=down", &[]),
        ("metadata.page=home", &[]),
    ] {
        assert_eq!(turns.found(&ada, query).await, expected, "{query}");
    }
    let foreign = ada.get("/api/turns?userId=bob").await.faults();
    let expected = ("userId".to_owned(), "not_combinable".to_owned());
    assert_eq!(foreign, [expected]);
    let everyone = turns.found(&turns.api.reader(), "rating=down").await;
    assert_eq!(everyone, ["ada"]);
    turns.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_other_agents_and_deleted_conversations_are_not_listed() {
    let turns = Turns::start().await;
    let draft = json!({"userId": "eve", "scopes": &BACKEND[1..], "agentIds": [turns.agents[0]]});
    let confined = turns.api.caller(Some(&token(&turns.backend, draft).await));
    assert_eq!(turns.found(&confined, "").await, Vec::<&str>::new());
    let conversation = turns.chats[1]["conversationId"].as_str().expect("an id");
    let path = format!("/api/conversations/{conversation}");
    assert_eq!(turns.api.writer().delete(&path).await.status, 204);
    assert_eq!(turns.found(&turns.api.reader(), "").await, ["eve", "ada"]);
    turns.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_metadata_has_a_name_with_nul() {
    let api = ApiServer::start().await;
    for list in ["turns", "conversations"] {
        let refused = api
            .reader()
            .get(&format!("/api/{list}?metadata.k%00=1"))
            .await;
        refused.problem(ProblemCode::ValidationFailed);
    }
    api.stop().await;
}
