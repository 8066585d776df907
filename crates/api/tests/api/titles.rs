//! Titles of conversations by models.

use std::time::{Duration, Instant};

use domain::Usage;
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    engines::scripted_agent,
    script::{EngineCall, Script},
};

/// The time in which the follower has seen a turn.
const SOON: Duration = Duration::from_secs(10);

/// A service with an agent whose titles are written by a scripted engine, and the follower has begun.
async fn titled_agent(config: Value) -> (ApiServer, Script, String) {
    let (api, script, agent) = scripted_agent(config).await;
    followed(&api).await;
    (api, script, agent)
}

/// Waits until the follower has seen all that has happened.
async fn followed(api: &ApiServer) {
    let tenant = "default".parse().expect("the id of a tenant");
    let head = api.storage.events.bounds(&tenant).await;
    let head = head.expect("the store answers").head;
    let started = Instant::now();
    loop {
        let positions = api.storage.followers.positions("titles").await;
        let positions = positions.expect("the store answers");
        let mut of_tenant = positions.iter().filter(|(it, _)| *it == tenant);
        if of_tenant.any(|(_, at)| at.seq >= head) {
            return;
        }
        assert!(started.elapsed() < SOON, "{positions:?} before {head:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Chats, and returns the id of the conversation.
async fn chat(api: &ApiServer, script: &mut Script, command: Value) -> String {
    let (reply, ()) = tokio::join!(api.chat(command), async {
        script.next_call().await.answer("From 9 to 18.").await;
    });
    let id = reply["conversationId"].as_str();
    id.expect("an id").to_owned()
}

fn hello(agent: &str) -> Value {
    json!({"agentId": agent, "userId": "ada", "message": "When do you open?"})
}

async fn conversation(api: &ApiServer, id: &str) -> Value {
    let path = format!("/api/conversations/{id}");
    api.reader().get(&path).await.ok()
}

async fn patch(api: &ApiServer, id: &str, change: Value) -> Value {
    let path = format!("/api/conversations/{id}");
    api.writer().patch(&path, change).await.ok()
}

/// The request for a title.
async fn title_call(script: &mut Script) -> EngineCall {
    let call = script.next_call().await;
    let beginning = json!({"user": "When do you open?", "reply": "From 9 to 18."});
    let read: Value = serde_json::from_str(&call.request.message).expect("JSON");
    assert_eq!(read, beginning);
    assert!(call.request.tools.is_empty());
    call
}

async fn answer(call: EngineCall, title: &str) {
    call.send_text(title).await;
    let usage = Usage {
        input_tokens: 50,
        output_tokens: 4,
        ..Usage::default()
    };
    call.end_with(domain::FinishReason::Stop, Some(usage));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_writes_the_title_after_the_first_turn() {
    let (api, mut script, agent) = titled_agent(json!({"titles": {}})).await;
    let id = chat(&api, &mut script, hello(&agent)).await;
    let before = conversation(&api, &id).await;
    assert_eq!(
        (before.get("titleSource"), &before["title"]),
        (None, &Value::Null)
    );
    answer(title_call(&mut script).await, "\"Opening hours.\"\n").await;
    followed(&api).await;
    let titled = conversation(&api, &id).await;
    assert_eq!(titled["title"], "Opening hours");
    assert_eq!(
        (&titled["titleSource"], &titled["version"]),
        (&json!("model"), &json!(2))
    );
    let path = "/api/events?since=0&types=conversation.updated";
    let events = api.reader().get(path).await.ok();
    let event = &events["data"][0];
    assert_eq!(
        (&event["actor"], &event["data"]["conversation"]),
        (&json!("service"), &titled)
    );
    assert_eq!(events["data"].as_array().map(Vec::len), Some(1));
    let command = json!({"conversationId": id, "message": "And on Sundays?"});
    chat(&api, &mut script, command).await;
    followed(&api).await;
    script.assert_no_more_calls();
    assert_eq!(conversation(&api, &id).await["title"], "Opening hours");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn titles_are_off_by_default() {
    let (api, mut script, agent) = titled_agent(json!({})).await;
    let id = chat(&api, &mut script, hello(&agent)).await;
    followed(&api).await;
    script.assert_no_more_calls();
    let untitled = conversation(&api, &id).await;
    assert_eq!(
        (untitled.get("titleSource"), &untitled["title"]),
        (None, &Value::Null)
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_title_of_a_person_is_not_replaced() {
    let (api, mut script, agent) = titled_agent(json!({"titles": {}})).await;
    let mut command = hello(&agent);
    command["title"] = "Hours".into();
    let id = chat(&api, &mut script, command).await;
    followed(&api).await;
    script.assert_no_more_calls();
    let titled = conversation(&api, &id).await;
    assert_eq!(
        (&titled["title"], &titled["titleSource"]),
        (&json!("Hours"), &json!("person"))
    );
    let draft = json!({"agentId": agent, "title": "Hours"});
    assert_eq!(api.conversation(draft).await["titleSource"], "person");

    // Removed, or set, while the model is asked.
    for title in [Value::Null, json!("By Ada")] {
        let id = chat(&api, &mut script, hello(&agent)).await;
        let call = title_call(&mut script).await;
        let changed = patch(&api, &id, json!({"title": title})).await;
        assert_eq!(changed["titleSource"], "person");
        answer(call, "By a model").await;
        followed(&api).await;
        assert_eq!(conversation(&api, &id).await, changed);
        assert_eq!(changed["title"], title);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_sends_a_title_is_its_author() {
    let (api, mut script, agent) = titled_agent(json!({"titles": {}})).await;
    let id = chat(&api, &mut script, hello(&agent)).await;
    answer(title_call(&mut script).await, "Opening hours").await;
    followed(&api).await;
    let changed = patch(&api, &id, json!({"metadata": {"colour": "red"}})).await;
    assert_eq!(changed["titleSource"], "model");
    let same = patch(&api, &id, json!({"title": "Opening hours"})).await;
    assert_eq!(
        (&same["titleSource"], &same["version"]),
        (&json!("person"), &json!(4))
    );
    let removed = patch(&api, &id, json!({"title": null})).await;
    assert_eq!(
        (&removed["titleSource"], &removed["title"]),
        (&json!("person"), &Value::Null)
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_whose_request_fails_stays_without_a_title() {
    let (api, mut script, agent) = titled_agent(json!({"titles": {}})).await;
    let id = chat(&api, &mut script, hello(&agent)).await;
    title_call(&mut script).await.fail(ReplyError::TimedOut);
    followed(&api).await;
    let command = json!({"conversationId": id, "message": "And on Sundays?"});
    chat(&api, &mut script, command).await;
    followed(&api).await;
    script.assert_no_more_calls();
    let untitled = conversation(&api, &id).await;
    assert_eq!(
        (untitled.get("titleSource"), &untitled["version"]),
        (None, &json!(1))
    );
    // The follower goes on.
    let next = chat(&api, &mut script, hello(&agent)).await;
    answer(title_call(&mut script).await, "Next").await;
    followed(&api).await;
    assert_eq!(conversation(&api, &next).await["title"], "Next");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_have_titles_only_from_another_engine() {
    let config = json!({"titles": {"engine": "scripted", "model": "small"}});
    let (api, mut script, agent) = titled_agent(config).await;
    let path = format!("/api/agents/{agent}");
    let rules = json!({"config": {"engine": "rules", "fallbackReply": "From 9 to 18."}});
    api.writer().patch(&path, rules).await.ok();
    let reply = api.chat(hello(&agent)).await;
    assert_eq!(reply["engine"], "rules");
    let call = title_call(&mut script).await;
    let llm = call.request.agent.config.llm.clone();
    assert_eq!(llm.and_then(|llm| llm.model).as_deref(), Some("small"));
    answer(call, "Opening hours").await;
    followed(&api).await;
    let id = reply["conversationId"].as_str().expect("an id");
    assert_eq!(conversation(&api, id).await["title"], "Opening hours");

    let own = json!({"config": {"titles": {"engine": null}}});
    api.writer().patch(&path, own).await.ok();
    let reply = api.chat(hello(&agent)).await;
    followed(&api).await;
    script.assert_no_more_calls();
    let id = reply["conversationId"].as_str().expect("an id");
    assert_eq!(conversation(&api, id).await["title"], Value::Null);
    api.stop().await;
}
