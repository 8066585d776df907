//! A user of an identity provider reaches nothing of another user's talks, whatever it asks:
//! walked over the published document.

use api::access::scope_table::{Access, access_of};
use domain::Scope;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    caller::Caller,
    harness::Api,
    issuer::get_with_keys,
    operations::{self, Operation, Sample},
    user_issuer::UserIssuer,
    walk::Walk,
};

/// Everything but to reach the conversations of others.
fn confined() -> Vec<&'static str> {
    let scopes = Scope::ALL.iter().map(|scope| scope.as_str());
    scopes
        .filter(|scope| *scope != "conversations:all")
        .collect()
}

/// Whether the path names a conversation or a turn.
fn names_a_talk(operation: &Operation) -> bool {
    let nouns = ["/api/conversations/{id}", "/api/turns/{id}"];
    nouns
        .iter()
        .any(|noun| operation.template.starts_with(noun))
}

/// What else can be asked about another user's talk, all of which happened since a position of the
/// log: the answer, and its status.
async fn asked_otherwise(
    id: &str,
    user: &Caller,
    sample: &Sample,
    since: &Value,
) -> Vec<(Answer, u16)> {
    let (agent, conversation) = (&sample.agent, &sample.conversation);
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
async fn what_is_another_users_is_not_there() {
    let issuer = UserIssuer::start().await;
    let api = issuer.trusted().start().await;
    let user = api.caller(Some(&issuer.token("ada", &confined())));
    get_with_keys(&user, "/api/agents").await.ok();
    let mut walk = Walk::of("another user");
    for operation in operations::all() {
        if access_of(operation.id) == Some(Access::Public) {
            continue;
        }
        // Of bob's, and new each time: an operation before may have deleted what it worked on.
        let since = api.reader().get("/api/events").await.ok()["headSeq"].take();
        let sample = Sample::make(&api).await;
        let talk = [sample.conversation.as_str(), sample.turn.as_str()];
        let answer = operation.request(&user, &sample).send().await;
        if names_a_talk(&operation) {
            walk.note(&operation, &answer, 404, &[]);
        } else {
            walk.note(&operation, &answer, operation.success(), &talk);
        }
        for (answer, status) in asked_otherwise(operation.id, &user, &sample, &since).await {
            let secrets = if status == 200 { &talk[..] } else { &[] };
            walk.note(&operation, &answer, status, secrets);
        }
        assert_untouched(&api, &operation, &sample).await;
    }
    walk.end();
    api.stop().await;
}

/// Nothing of bob's has changed, unless its agent is gone.
async fn assert_untouched(api: &Api, operation: &Operation, sample: &Sample) {
    if operation.id == "delete_agent" {
        return;
    }
    let path = format!("/api/conversations/{}", sample.conversation);
    let conversation = api.reader().get(&path).await.ok();
    let (version, count) = (&conversation["version"], &conversation["messageCount"]);
    assert_eq!((version, count), (&json!(1), &json!(3)), "{}", operation.id);
}
