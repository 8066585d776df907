//! Threads as clients read them, and runs that they join.

use domain::Scope;
use serde_json::{Value, json};

use super::client::{
    get, input, kinds, post, run, run_path, start, status_and_body, stream, text, thread,
};
use crate::{api_server::ApiServer, engines::scripted_agent};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_reloads_reads_the_thread_and_joins_its_run() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut first = start(&api, &agent, &input("t", "r1", ("m1", "Hello"))).await;
    let call = script.next_call().await;
    call.send_text("Good ").await;
    let _queued = start(&api, &agent, &input("t", "r2", ("m2", "More"))).await;
    first.next_of_type("RUN_STARTED").await;
    let found = thread(&api.writer(), &agent, "threadId=t").await;
    let messages = found["messages"].as_array().expect("a list");
    let texts: Vec<(&Value, &Value)> = messages
        .iter()
        .map(|it| (&it["id"], &it["parts"][0]["content"]))
        .collect();
    assert_eq!(
        texts,
        [
            (&json!("m1"), &json!("Hello")),
            (&json!("m2"), &json!("More"))
        ],
        "the queued message, too"
    );
    assert_eq!(found["interrupts"], Value::Null);
    assert_eq!(found["page"], json!({"truncated": false}));
    let turn = found["activeRun"]["runId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let joining = async |run_id: &str, query: &str| {
        let path = format!("{}?offset=-1&runId={run_id}{query}", run_path(&agent));
        stream(get(&api.writer(), &path, &[]).await)
    };
    let mut by_turn = joining(&turn, "").await;
    let mut by_run = joining("r1", "&threadId=t").await;
    call.answer("morning").await;
    for (joined, run_id) in [(&mut by_turn, &*turn), (&mut by_run, "r1")] {
        let events = joined.remaining().await;
        assert_eq!(events[0].data["threadId"], "t");
        assert_eq!(events[0].data["runId"], run_id);
        assert_eq!(text(&events), "Good morning");
        assert_eq!(*kinds(&events).last().unwrap(), "RUN_FINISHED");
    }
    script.next_call().await.answer("Yes?").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_thread_begins_with_its_messages() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let path = format!("{}?threadId=t", run_path(&agent));
    let accept = [("Accept", "text/event-stream")];
    let events = stream(get(&api.writer(), &path, &accept).await);
    let empty = { events }.remaining().await;
    assert_eq!(
        kinds(&empty),
        ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    );
    assert_eq!(empty[1].data["messages"], json!([]));
    let mut running = start(&api, &agent, &input("t", "r", ("m1", "Hello"))).await;
    let call = script.next_call().await;
    running.next_of_type("RUN_STARTED").await;
    let mut attached = stream(get(&api.writer(), &path, &accept).await);
    call.use_tool("clock", json!({})).await;
    call.answer("Noon.").await;
    let events = attached.remaining().await;
    assert_eq!(
        events[1].data["messages"],
        json!([{"id": "m1", "role": "user", "content": "Hello"}])
    );
    let live = running.remaining().await;
    assert_eq!(kinds(&events)[2..], *kinds(&live));
    let after = stream(get(&api.writer(), &path, &accept).await)
        .remaining()
        .await;
    let messages = after[1].data["messages"].as_array().expect("a list");
    let roles: Vec<&Value> = messages.iter().map(|it| &it["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let started = live
        .iter()
        .find(|it| it.data["type"] == "TEXT_MESSAGE_START");
    assert_eq!(
        messages[3]["id"],
        started.expect("a text").data["messageId"]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_threads_have_pages() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for number in 1..=3 {
        let (run_id, id) = (format!("r{number}"), format!("m{number}"));
        run(&api, &agent, &input("t", &run_id, (&id, "Hello"))).await;
    }
    let first = thread(&api.writer(), &agent, "threadId=t&limit=4").await;
    assert_eq!(first["messages"][0]["id"], "m2");
    let cursor = first["page"]["cursor"].as_str().expect("a cursor");
    let query = format!("threadId=t&limit=4&before={cursor}");
    let second = thread(&api.writer(), &agent, &query).await;
    assert_eq!(second["messages"][0]["id"], "m1");
    assert_eq!(second["messages"].as_array().map(Vec::len), Some(2));
    assert_eq!(second["page"], json!({"truncated": false}));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_belong_to_the_user_of_the_header() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let body = input("t", "r", ("m1", "Hello"));
    let ada = [("X-User-Id", "ada")];
    stream(post(&api.writer(), &agent, &body, &ada).await)
        .remaining()
        .await;
    let read = async |headers: &[(&str, &str)], query: &str| {
        let path = format!("{}?{query}", run_path(&agent));
        status_and_body(get(&api.writer(), &path, headers).await).await
    };
    let count = |found: &Value| found["messages"].as_array().map(Vec::len);
    assert_eq!(count(&read(&ada, "threadId=t").await.1), Some(2));
    for other in [&[][..], &[("X-User-Id", "bob")]] {
        assert_eq!(count(&read(other, "threadId=t").await.1), Some(0));
        let (status, error) = read(other, "runId=r").await;
        assert_eq!((status, &error["code"]), (404, &json!("turn_not_found")));
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_only_chats_follows_its_own_turns() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let [one, other] = [
        api.caller_with_scopes(&[Scope::ChatWrite]).await,
        api.caller_with_scopes(&[Scope::ChatWrite]).await,
    ];
    let mut run = stream(post(&one, &agent, &input("t", "r", ("m1", "Hello")), &[]).await);
    let call = script.next_call().await;
    let turn = call.request.turn_id;
    call.answer("Hi.").await;
    run.remaining().await;
    let path = format!("{}?offset=-1&runId={turn}", run_path(&agent));
    let own = stream(get(&one, &path, &[]).await).remaining().await;
    assert_eq!(text(&own), "Hi.");
    let thread = format!("{}?threadId=t", run_path(&agent));
    for (caller, path) in [(&other, &path), (&one, &thread), (&other, &thread)] {
        let (status, error) = status_and_body(get(caller, path, &[]).await).await;
        assert_eq!(
            (status, &error["code"]),
            (403, &json!("insufficient_scope"))
        );
    }
    api.stop().await;
}
