//! Credentials that are confined to one agent reach nothing of another one: a walk over the published document,
//! with the operations of the protocols of other clients.

use domain::{Scope, Scopes};
use kit::operations::Access;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    operations::{self, Operation, TestResources, table},
    user_tokens::{BACKEND, backend, token},
    walk::Walk,
};

/// A text in the prompt, the greeting and the messages of the other agent.
const SECRET: &str = "zebracrossing";

/// An agent and a conversation beside those of [`TestResources`], with the text everywhere.
async fn secret_resources(api: &ApiServer) -> TestResources {
    let mut resources = TestResources::make(api).await;
    let config = json!({"greeting": SECRET, "instructions": SECRET, "fallbackReply": SECRET});
    let draft = json!({"name": SECRET, "personality": SECRET, "config": config});
    resources.agent = id_of(&api.agent(draft).await);
    let draft = json!({"agentId": resources.agent, "userId": "ada", "title": SECRET});
    resources.conversation = id_of(&api.conversation(draft).await);
    let path = format!("/api/conversations/{}", resources.conversation);
    let file = api.writer().post("/api/files", json!(SECRET)).await;
    resources.file = id_of(&file.created());
    let chat = json!({
        "conversationId": resources.conversation, "message": SECRET, "files": [resources.file],
    });
    let reply = api.chat(chat).await;
    resources.turn = reply["turnId"].as_str().expect("a turn").to_owned();
    let message = json!({"content": SECRET});
    let written = api
        .writer()
        .post(&format!("{path}/messages"), message.clone())
        .await;
    resources.staff_message = id_of(&written.created());
    let written = api.writer().post(&format!("{path}/notes"), message).await;
    resources.note = id_of(&written.created());
    resources
}

/// Returns whether the path names something of the other agent.
fn names_a_resource(operation: &Operation) -> bool {
    let others = ["/api/keys", "/api/oauth-clients", "/api/nodes", "/problems"];
    operation.template.contains("{id}")
        && !others.iter().any(|it| operation.template.starts_with(it))
}

/// Requests beside the valid one, all of which name or could contain something of the other agent.
async fn other_requests(caller: &Caller, resources: &TestResources) -> Vec<(&'static str, String)> {
    let (agent, conversation) = (&resources.agent, &resources.conversation);
    let gets = [
        (
            "list_conversations",
            format!("/api/conversations?q={SECRET}"),
        ),
        (
            "list_conversations",
            format!("/api/conversations?agentId={agent}"),
        ),
        (
            "list_conversations",
            format!("/api/conversations?q={SECRET}&agentId={agent}"),
        ),
        ("list_events", "/api/events?since=0&limit=100".to_owned()),
        (
            "list_events",
            format!("/api/events?since=0&agentId={agent}"),
        ),
        (
            "list_events",
            format!("/api/events?since=0&conversationId={conversation}"),
        ),
        ("list_feedback", format!("/api/feedback?agentId={agent}")),
        ("list_turns", format!("/api/turns?agentId={agent}")),
        ("list_agents", format!("/api/agents?name={SECRET}")),
    ];
    let chat = |body| ("chat", "/api/chat", body);
    let create = |body| ("create_conversation", "/api/conversations", body);
    let posts = [
        chat(json!({"agentId": agent, "message": "Hi"})),
        chat(json!({"conversationId": conversation, "message": "Hi"})),
        chat(json!({"agentId": agent, "message": "Hi", "files": [resources.file]})),
        create(json!({"agentId": agent})),
        create(json!({"forkOf": {"conversationId": conversation}})),
    ];
    let mut received = Vec::new();
    for (id, path) in gets {
        received.push((id, caller.get(&path).await.text().to_owned()));
    }
    for (id, path, body) in posts {
        received.push((id, caller.post(path, body).await.text().to_owned()));
    }
    received
}

/// Requests every operation on resources of another agent, with a credential that has these scopes.
async fn walk_confined(api: &ApiServer, caller: &Caller, held: &Scopes, identity: &'static str) {
    let mut walk = Walk::new(identity);
    for operation in operations::all() {
        let access = table().find(operation.id).expect("a row").access;
        if access == Access::Public {
            continue;
        }
        let resources = secret_resources(api).await;
        let response = operation.request(caller, &resources).send().await;
        let may_try = match access {
            Access::AnyOf(accepted) => accepted.iter().any(|scope| held.contains(*scope)),
            _ => true,
        };
        if !may_try {
            walk.check(&operation, &response, 403, &[SECRET]);
        } else if names_a_resource(&operation) {
            let status = if response.status == 403 { 403 } else { 404 };
            walk.check(&operation, &response, status, &[SECRET]);
        } else {
            let ids = [
                SECRET,
                &resources.turn,
                &resources.note,
                &resources.staff_message,
            ];
            walk.check(&operation, &response, response.status, &ids);
        }
        let path = format!("/api/conversations/{}", resources.conversation);
        let kept = api.reader().get(&path).await.ok();
        let state = (&kept["version"], &kept["messageCount"]);
        assert_eq!(
            state,
            (&json!(1), &json!(4)),
            "{} has changed it",
            operation.id
        );
    }
    let resources = secret_resources(api).await;
    let by_id = |id| {
        operations::all()
            .into_iter()
            .find(|it| it.id == id)
            .expect("an operation")
    };
    for (id, text) in other_requests(caller, &resources).await {
        let (id, shown) = (
            by_id(id).id,
            text.contains(SECRET) || text.contains(&resources.turn),
        );
        assert!(!shown, "{id} as {identity}: {text}");
    }
    walk.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_another_agent_is_found_with_a_confined_user_token() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let own = api.agent_id().await;
    let draft = json!({"userId": "ada", "scopes": &BACKEND[1..], "agentIds": [own]});
    let confined = api.caller(Some(&token(&backend, draft).await));
    let held: Scopes = Scope::ALL
        .iter()
        .copied()
        .filter(|scope| BACKEND[1..].contains(&scope.as_str()))
        .collect();
    confined.get(&format!("/api/profiles/{own}")).await.ok();
    walk_confined(&api, &confined, &held, "a confined user token").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_another_agent_is_found_with_a_confined_key() {
    let api = ApiServer::start().await;
    let own = api.agent_id().await;
    let scopes = [
        "agents:read",
        "chat:write",
        "conversations:read",
        "conversations:write",
        "conversations:all",
        "events:read",
        "tools:approve",
    ];
    let draft: Value = json!({"name": "Confined", "scopes": scopes, "agentIds": [own]});
    let key = api.writer().post("/api/keys", draft).await.created();
    let confined = api.caller(key["secret"].as_str());
    let held: Scopes = Scope::ALL
        .iter()
        .copied()
        .filter(|scope| scopes.contains(&scope.as_str()))
        .collect();
    confined.get(&format!("/api/agents/{own}")).await.ok();
    walk_confined(&api, &confined, &held, "a confined key").await;
    api.stop().await;
}
