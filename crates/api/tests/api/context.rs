//! The context of conversations and users: models are told it, users do not see it.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    engines::scripted_agent,
    script::Script,
    user_tokens::{BACKEND, backend, user},
};

const SECRET: &str = "Owes us 40 €.";

/// Sends a chat, and returns what the engine is told about the conversation, about the user, and by
/// which name it knows the user.
async fn told(caller: &Caller, script: &mut Script, chat: Value) -> [Option<String>; 3] {
    let sending = caller.post("/api/chat", chat);
    let (response, told) = tokio::join!(sending, async {
        let call = script.next_call().await;
        let request = &call.request;
        let user = request.user.as_deref();
        let told = [
            request.context.as_deref().map(str::to_owned),
            user.map(|user| user.context.clone()),
            user.and_then(|user| user.name.clone()),
        ];
        call.answer("Fine.").await;
        told
    });
    response.ok();
    told
}

fn some(texts: [Option<&str>; 3]) -> [Option<String>; 3] {
    texts.map(|text| text.map(str::to_owned))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_context_of_a_conversation_reaches_the_engine() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let chat =
        json!({"agentId": agent, "message": "Hi", "context": SECRET, "conversationKey": "k"});
    let expected = some([Some(SECRET), None, None]);
    assert_eq!(told(&writer, &mut script, chat.clone()).await, expected);
    // Only the chat that creates the conversation sets it.
    let mut again = chat;
    again["context"] = "other".into();
    assert_eq!(told(&writer, &mut script, again).await, expected);
    let made = json!({"agentId": agent, "context": "as created"});
    let made = api.conversation(made).await;
    assert_eq!(made["context"], "as created");
    let next = json!({"conversationId": made["id"], "message": "Hi"});
    let expected = some([Some("as created"), None, None]);
    assert_eq!(told(&writer, &mut script, next.clone()).await, expected);
    let path = format!("/api/conversations/{}", id_of(&made));
    let changed = writer.patch(&path, json!({"context": "changed"})).await;
    assert_eq!(changed.ok()["context"], "changed");
    assert_eq!(changed.ok()["version"], 2);
    let expected = some([Some("changed"), None, None]);
    assert_eq!(told(&writer, &mut script, next.clone()).await, expected);
    let fork = json!({"forkOf": {"conversationId": made["id"]}});
    let fork = api.conversation(fork).await;
    assert_eq!(fork["context"], "changed");
    writer.patch(&path, json!({"context": null})).await.ok();
    let expected = some([None, None, None]);
    assert_eq!(told(&writer, &mut script, next).await, expected);
    let log = writer
        .get("/api/events?since=0&types=conversation.updated")
        .await;
    assert_eq!(
        log.ok()["data"][0]["data"]["conversation"]["id"],
        made["id"]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_neither_see_nor_write_the_context() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let made = json!({"agentId": agent, "userId": "ada", "context": SECRET});
    let made = api.conversation(made).await;
    let path = format!("/api/conversations/{}", id_of(&made));
    for path in [
        path.clone(),
        "/api/conversations".to_owned(),
        "/api/events?since=0".to_owned(),
    ] {
        let read = ada.get(&path).await;
        assert!(read.text().contains(&id_of(&made)), "{}", read.text());
        assert!(!read.text().contains("context"), "{}", read.text());
        let read = api.writer().get(&path).await;
        assert!(read.text().contains(SECRET), "{}", read.text());
    }
    let titled = ada.patch(&path, json!({"title": "Mine"})).await;
    assert!(!titled.text().contains("context"), "{}", titled.text());
    for change in [json!({"context": "forged"}), json!({"context": null})] {
        let rejected = ada.patch(&path, change).await;
        rejected.problem(ProblemCode::InsufficientScope);
    }
    let forged = json!({"agentId": agent, "context": "forged"});
    let rejected = ada.post("/api/conversations", forged).await;
    rejected.problem(ProblemCode::InsufficientScope);
    let forged = json!({"agentId": agent, "message": "Hi", "context": "forged"});
    let rejected = ada.post("/api/chat", forged.clone()).await;
    rejected.problem(ProblemCode::InsufficientScope);
    let chat_only = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let rejected = chat_only.post("/api/chat", forged).await;
    rejected.problem(ProblemCode::InsufficientScope);
    // The response is that of a conversation that does not exist.
    let eve = user(&api, &backend, "eve").await;
    let hidden = eve.patch(&path, json!({"context": "forged"})).await;
    hidden.problem(ProblemCode::ConversationNotFound);
    let stored = api.writer().get(&path).await.ok();
    assert_eq!(
        (&stored["context"], &stored["title"]),
        (&json!(SECRET), &json!("Mine"))
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_only_write_do_not_read_the_context() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let made = api
        .conversation(json!({"agentId": agent, "context": SECRET}))
        .await;
    let path = format!("/api/conversations/{}", id_of(&made));
    let writer = api.caller_with_scopes(&[Scope::ConversationsWrite]).await;
    let changed = writer.patch(&path, json!({"title": "x"})).await;
    assert_eq!(changed.ok()["context"], Value::Null);
    let changed = writer.patch(&path, json!({"context": "new"})).await;
    assert_eq!(changed.ok()["context"], Value::Null);
    assert_eq!(api.reader().get(&path).await.ok()["context"], "new");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_about_users_reaches_the_engine() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let chat = json!({"agentId": agent, "message": "Hi", "userId": "ada"});
    let expected = some([None, None, None]);
    assert_eq!(told(&writer, &mut script, chat.clone()).await, expected);
    let ada = json!({"name": "Ada", "context": SECRET});
    writer.put("/api/users?userId=ada", ada).await.created();
    let expected = some([None, Some(SECRET), Some("Ada")]);
    assert_eq!(told(&writer, &mut script, chat.clone()).await, expected);
    let mut unrecorded = chat.clone();
    unrecorded["store"] = false.into();
    assert_eq!(told(&writer, &mut script, unrecorded).await, expected);
    let renamed = json!({"name": "Ada L."});
    writer.patch("/api/users?userId=ada", renamed).await.ok();
    let expected = some([None, Some(SECRET), Some("Ada L.")]);
    assert_eq!(told(&writer, &mut script, chat).await, expected);
    let other = json!({"agentId": agent, "message": "Hi", "userId": "eve"});
    let nothing = some([None, None, None]);
    assert_eq!(told(&writer, &mut script, other).await, nothing);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_agents_name_the_user() {
    let api = ApiServer::start().await;
    let config = json!({
        "engine": "rules",
        "greeting": r"Hi {{user.name}}, I am {{agent.name}}. \{{user.name}}",
        "fallbackReply": "{{user.name}} ({{user.id}}) wrote {{message}}",
    });
    let agent = json!({"name": "Bob", "config": config});
    let agent = id_of(&api.agent(agent).await);
    let ada = json!({"name": "{{user.id}}"});
    api.writer()
        .put("/api/users?userId=ada", ada)
        .await
        .created();
    let chat = json!({"agentId": agent, "userId": "ada", "message": "x {{user.name}}"});
    let reply = api.chat(chat).await;
    assert_eq!(reply["message"], "{{user.id}} (ada) wrote x {{user.name}}");
    let chat = json!({"agentId": agent, "message": "x"});
    assert_eq!(api.chat(chat).await["message"], " () wrote x");
    let made = api
        .conversation(json!({"agentId": agent, "userId": "ada"}))
        .await;
    assert_eq!(made["excerpt"], "Hi {{user.id}}, I am Bob. {{user.name}}");
    let (_, backend) = backend(&api, BACKEND).await;
    let visitor = user(&api, &backend, "ada").await;
    let profile = visitor.get(&format!("/api/profiles/{agent}")).await.ok();
    assert_eq!(profile["greeting"], made["excerpt"]);
    let page = visitor.get("/api/profiles").await.ok();
    assert_eq!(page["data"], json!([profile]));
    let unknown = json!({"config": {"greeting": "{{user.nmae}}"}});
    let rejected = api
        .writer()
        .patch(&format!("/api/agents/{agent}"), unknown)
        .await;
    let fault = ("/config/greeting".to_owned(), "unknown_value".to_owned());
    assert_eq!(rejected.faults(), [fault]);
    api.stop().await;
}
