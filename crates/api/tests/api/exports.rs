//! `GET /api/export` and `GET /api/users/export`.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    user_tokens::{BACKEND, backend, user},
};

/// The lines of an export.
async fn lines(caller: &Caller, path: &str) -> Vec<Value> {
    let response = caller.get(path).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.header("content-type"), "application/x-ndjson");
    let lines = response.text().lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

fn types(lines: &[Value]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line["type"].as_str().expect("a type"))
        .collect()
}

/// A conversation with this many messages, imported for a user, which ends at a time of 2024.
async fn imported(api: &ApiServer, agent: &str, user: &str, count: usize, day: usize) -> Value {
    let messages: Vec<_> = (0..count)
        .map(|index| {
            let role = ["user", "agent"][index % 2];
            let at = format!("2024-05-{day:02}T10:00:00Z");
            json!({"role": role, "content": format!("{user} {index}"), "createdAt": at})
        })
        .collect();
    let body = json!({"agentId": agent, "userId": user, "messages": messages});
    let made = api.writer().post("/api/conversations", body).await;
    made.created()
}

async fn reader(api: &ApiServer) -> Caller {
    api.caller_with_scopes(&[Scope::UsersAdmin]).await
}

/// Adds a note, a reply that is rated and a message that is edited to an imported conversation of Ada.
async fn talk(api: &ApiServer, first: &Value, path: &str) {
    let writer = api.writer();
    let note = json!({"content": "Called back."});
    writer.post(&format!("{path}/notes"), note).await.created();
    let chat = json!({"conversationId": first["id"], "message": "Thanks"});
    let reply = api.chat(chat).await;
    let feedback = format!(
        "{path}/messages/{}/feedback",
        reply["messageId"].as_str().expect("a reply")
    );
    let rating = json!({"rating": "up", "userId": "ada"});
    assert_eq!(writer.put(&feedback, rating).await.status, 200);
    // The edited message remains stored.
    let messages = writer.get(&format!("{path}/messages")).await.ok();
    let edit = json!({
        "conversationId": first["id"], "message": "Thank you",
        "supersedes": messages["data"][2]["id"],
    });
    api.chat(edit).await;
}

fn without_type(line: &Value) -> Value {
    let mut line = line.clone();
    let members = line.as_object_mut().expect("an object");
    members.remove("type");
    line
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_about_a_user_is_exported() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let first = imported(&api, &agent, "ada", 2, 1).await;
    imported(&api, &agent, "bob", 2, 2).await;
    let path = format!("/api/conversations/{}", id_of(&first));
    talk(&api, &first, &path).await;
    let writer = api.writer();
    let draft = json!({"name": "Ada", "context": "On plan Pro."});
    let stored = writer.put("/api/users?userId=ada", draft).await.created();
    let exported = lines(&reader(&api).await, "/api/users/export?userId=ada").await;
    assert_eq!(
        types(&exported),
        [
            "user",
            "conversation",
            "message",
            "message",
            "message",
            "message",
            "message",
            "message",
            "turn",
            "turn",
            "note",
            "end"
        ]
    );
    assert_eq!(without_type(&exported[0]), stored);
    let shown = api.reader().get(&path).await.ok();
    assert_eq!(without_type(&exported[1]), shown);
    let all = format!("{path}/messages?superseded=include");
    let all = api.reader().get(&all).await.ok();
    let messages: Vec<_> = exported[2..8].iter().map(without_type).collect();
    assert_eq!(Value::from(messages), all["data"]);
    assert!(exported[4]["supersededAt"].is_string());
    assert_eq!(exported[5]["feedback"][0]["rating"], "up");
    let turns = api.reader().get(&format!("{path}/turns")).await.ok();
    assert_eq!(without_type(&exported[8]), turns["data"][0]);
    assert_eq!(exported[10]["content"], "Called back.");
    let counts = json!({"user": 1, "conversation": 1, "message": 6, "turn": 2, "note": 1});
    assert_eq!(exported[11], json!({"type": "end", "counts": counts}));
    // Without a record, the conversations are enough to know the user.
    let of_bob = lines(&reader(&api).await, "/api/users/export?userId=bob").await;
    assert_eq!(
        types(&of_bob),
        ["conversation", "message", "message", "end"]
    );
    let unknown = reader(&api).await.get("/api/users/export?userId=eve").await;
    unknown.problem(ProblemCode::UserNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_exported_with_their_messages() {
    let api = ApiServer::start().await;
    let (agent, other) = (api.agent_id().await, api.agent_id().await);
    imported(&api, &agent, "ada", 250, 1).await;
    let second = imported(&api, &agent, "bob", 1, 2).await;
    imported(&api, &other, "bob", 0, 3).await;
    let note = json!({"content": "Called back."});
    let notes = format!("/api/conversations/{}/notes", id_of(&second));
    api.writer().post(&notes, note).await.created();
    let all = lines(&api.reader(), "/api/export").await;
    let counts = json!({"conversation": 3, "message": 251});
    assert_eq!(
        *all.last().unwrap(),
        json!({"type": "end", "counts": counts})
    );
    assert_eq!(all.len(), 255);
    assert_eq!(all[250]["content"], "ada 249");
    let selected = async |query: &str| {
        let lines = lines(&api.reader(), &format!("/api/export?{query}")).await;
        let conversations = lines.iter().filter(|line| line["type"] == "conversation");
        let users = conversations.map(|it| it["userId"].clone());
        users.collect::<Vec<_>>()
    };
    assert_eq!(selected(&format!("agentId={agent}")).await, ["ada", "bob"]);
    assert_eq!(selected("agentId=7").await, Vec::<Value>::new());
    assert_eq!(selected("from=2024-05-02T10:00:00Z").await, ["bob"]);
    assert_eq!(selected("to=2024-05-02T10:00:00Z").await, ["ada"]);
    let key = api.caller_with_key(|key| {
        key.agents = domain::AgentReach::only([other.parse().unwrap()]);
        key.scopes = [Scope::ConversationsRead].into_iter().collect();
    });
    let confined = lines(&key.await, "/api/export").await;
    assert_eq!(types(&confined), ["conversation", "end"]);
    assert_eq!(confined[0]["agentId"], Value::from(other));
    let other_tenant = lines(&api.other_tenant(), "/api/export").await;
    assert_eq!(types(&other_tenant), ["end"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_exported_as_examples_for_fine_tuning() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    imported(&api, &agent, "ada", 2, 1).await;
    imported(&api, &agent, "nobody", 0, 1).await;
    imported(&api, &agent, "bob", 201, 1).await;
    let examples = lines(&api.reader(), "/api/export?format=openai").await;
    assert_eq!(examples.len(), 2);
    let expected = json!({"messages": [
        {"role": "user", "content": "ada 0"}, {"role": "assistant", "content": "ada 1"},
    ]});
    assert_eq!(examples[0], expected);
    assert_eq!(examples[1]["messages"][200]["content"], "bob 200");
    let unknown = api.reader().get("/api/export?format=csv").await;
    assert_eq!(
        unknown.faults(),
        [("format".to_owned(), "unknown_value".to_owned())]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_are_for_keys_and_clients() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let refused = ada.get("/api/export").await;
    refused.problem(ProblemCode::InsufficientScope);
    let refused = api.reader().request("GET", "/api/export");
    let refused = refused.header("X-User-Id", "ada").send().await;
    refused.problem(ProblemCode::InsufficientScope);
    let own = ada.get("/api/users/export?userId=ada").await;
    own.problem(ProblemCode::InsufficientScope);
    let accepted = api.reader().request("GET", "/api/export");
    let accepted = accepted.header("Accept", "application/x-ndjson");
    assert_eq!(accepted.send().await.status, 200);
    api.stop().await;
}

/// More conversations than one page, and than a scan reads ahead.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_many_conversations_is_complete() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for _ in 0..230 {
        imported(&api, &agent, "ada", 1, 1).await;
    }
    let exported = lines(&reader(&api).await, "/api/users/export?userId=ada").await;
    let ids: std::collections::BTreeSet<_> = exported
        .iter()
        .filter(|line| line["type"] == "conversation")
        .map(id_of)
        .collect();
    assert_eq!(ids.len(), 230);
    let counts = json!({"conversation": 230, "message": 230});
    assert_eq!(exported.last().unwrap()["counts"], counts);
    api.stop().await;
}
