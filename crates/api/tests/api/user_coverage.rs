//! Users of an identity provider and of user tokens cannot reach conversations of other users: a walk
//! over the published document.

use domain::{Scope, Scopes};
use kit::operations::Access;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    caller::Caller,
    issuer::get_with_keys,
    operations::{self, Operation, TestResources, table},
    response::ApiResponse,
    user_issuer::UserIssuer,
    user_tokens,
    walk::Walk,
};

/// All scopes except access to conversations of others.
fn scopes_without_other_users() -> Vec<&'static str> {
    let scopes = Scope::ALL.iter().map(|scope| scope.as_str());
    scopes
        .filter(|scope| *scope != "conversations:all")
        .collect()
}

/// Returns true if no user may call the operation, whatever its scopes.
fn is_only_for_keys(operation: &Operation) -> bool {
    ["export_conversations", "export_user"].contains(&operation.id)
}

/// Returns true if the path contains a conversation, a turn or a file.
fn names_a_conversation(operation: &Operation) -> bool {
    let nouns = [
        "/api/conversations/{id}",
        "/api/turns/{id}",
        "/api/files/{id}",
    ];
    nouns
        .iter()
        .any(|noun| operation.template.starts_with(noun))
}

/// Other requests about another user's conversation since a position of the log: the response and
/// its status.
async fn other_requests(
    id: &str,
    user: &Caller,
    resources: &TestResources,
    since: &Value,
) -> Vec<(ApiResponse, u16)> {
    let (agent, conversation) = (&resources.agent, &resources.conversation);
    let post = |path: &'static str, body: Value| async move { user.post(path, body).await };
    let get = |path: String| async move { user.get(&path).await };
    match id {
        "chat" => {
            let within = json!({"agentId": agent, "conversationId": conversation, "message": "Hi"});
            let as_bob = json!({"agentId": agent, "userId": "bob", "message": "Hi"});
            vec![
                (post("/api/chat", within).await, 404),
                (post("/api/chat", as_bob).await, 422),
            ]
        }
        "create_conversation" => {
            let as_bob = json!({"agentId": agent, "userId": "bob"});
            vec![(post("/api/conversations", as_bob).await, 422)]
        }
        "list_conversations" => vec![
            (get("/api/conversations?userId=bob".to_owned()).await, 422),
            (
                get(format!("/api/conversations?agentId={agent}")).await,
                200,
            ),
        ],
        "list_events" => {
            let all = format!("/api/events?since={since}");
            let by_agent = format!("{all}&agentId={agent}");
            let within = format!("{all}&conversationId={conversation}");
            vec![
                (get(all).await, 200),
                (get(by_agent).await, 200),
                (get(within).await, 200),
            ]
        }
        _ => Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_of_other_users_are_not_found() {
    let issuer = UserIssuer::start().await;
    let api = issuer.trusting_server().start().await;
    let user = api.caller(Some(&issuer.token("ada", &scopes_without_other_users())));
    get_with_keys(&user, "/api/agents").await.ok();
    let never = [Scope::ConversationsAll, Scope::UserTokensIssue];
    let held = Scopes::all().without(&never.into_iter().collect());
    walk_as_user(&api, &user, held, "another user").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_of_other_users_are_not_found_with_a_user_token() {
    let api = ApiServer::start().await;
    let (_, backend) = user_tokens::backend(&api, user_tokens::BACKEND).await;
    let user = user_tokens::user(&api, &backend, "ada").await;
    walk_as_user(&api, &user, Scopes::of_user_tokens(), "another user token").await;
    api.stop().await;
}

/// Requests every operation on resources of bob as another user with these scopes.
async fn walk_as_user(api: &ApiServer, user: &Caller, held: Scopes, identity: &'static str) {
    let mut walk = Walk::new(identity);
    for operation in operations::all() {
        let access = table().find(operation.id).expect("a row").access;
        if access == Access::Public {
            continue;
        }
        // Bob's resources, new each time: an earlier operation may have deleted them.
        let since = api.reader().get("/api/events").await.ok()["headSeq"].take();
        let resources = TestResources::make(api).await;
        let talk = [resources.conversation.as_str(), resources.turn.as_str()];
        let response = operation.request(user, &resources).send().await;
        if let Access::AnyOf(accepted) = access
            && (is_only_for_keys(&operation) || !accepted.iter().any(|scope| held.contains(*scope)))
        {
            walk.check(&operation, &response, 403, &[]);
            continue;
        }
        if names_a_conversation(&operation) {
            walk.check(&operation, &response, 404, &[]);
        } else {
            walk.check(&operation, &response, operation.success(), &talk);
        }
        for (response, status) in other_requests(operation.id, user, &resources, &since).await {
            let secrets = if status == 200 { &talk[..] } else { &[] };
            walk.check(&operation, &response, status, secrets);
        }
        assert_untouched(api, &operation, &resources).await;
    }
    walk.end();
}

/// Nothing of bob's has changed, unless its agent is deleted.
async fn assert_untouched(api: &ApiServer, operation: &Operation, resources: &TestResources) {
    if operation.id == "delete_agent" {
        return;
    }
    let path = format!("/api/conversations/{}", resources.conversation);
    let conversation = api.reader().get(&path).await.ok();
    let (version, count) = (&conversation["version"], &conversation["messageCount"]);
    assert_eq!((version, count), (&json!(1), &json!(4)), "{}", operation.id);
}
