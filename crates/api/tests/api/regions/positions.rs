//! Positions of the event log that reads require.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::ProblemCode;
use serde_json::json;

use super::{
    delayed_log::Replayed,
    fixture::{Regions, home_builder},
};
use crate::{
    api_server::id_of,
    sse_client::EventStream,
    storage_probe::{InjectedFault, StorageProbe},
};

#[actix_web::test]
async fn a_read_that_requires_a_position_of_the_replica_is_local() {
    let regions = Regions::start().await;
    let created = regions
        .home
        .writer()
        .post("/api/agents", json!({"name": "Ada"}))
        .await;
    let position = created.header("x-consistency").to_owned();
    let path = created.header("location").to_owned();
    let read = regions.far.writer().request("GET", &path);
    let read = read.header("X-Consistency", &position).send().await;
    assert_eq!(read.header("x-served-by"), "replica");
    read.ok();
}

#[actix_web::test]
async fn a_cached_agent_is_read_again_before_a_read_that_requires_its_change() {
    let regions = Regions::start().await;
    let (home, far) = (regions.home.writer(), regions.far.reader());
    let created = home.post("/api/agents", json!({"name": "0"})).await;
    let path = created.header("location").to_owned();
    for number in 1..=50 {
        far.get(&path).await.ok();
        let name = number.to_string();
        let changed = home.patch(&path, json!({"name": name})).await;
        let position = changed.header("x-consistency").to_owned();
        let read = far.request("GET", &path);
        let read = read.header("X-Consistency", &position).send().await;
        assert_eq!(read.ok()["name"], name);
    }
}

#[actix_web::test]
async fn a_read_that_requires_a_later_position_is_answered_at_home() {
    let regions = Regions::start().await;
    let agent = regions.home.agent_id().await;
    let path = format!("/api/agents/{agent}");
    let read = |value: &str| {
        let read = regions.far.reader().request("GET", &path);
        read.header("X-Consistency", value).send()
    };
    let later = read("1000").await;
    assert_eq!(later.header("x-served-by"), "home");
    later.ok();
    read("-1").await.problem(ProblemCode::InvalidHeader);
    let events = regions.far.reader().get("/api/events?since=1000").await;
    events.problem(ProblemCode::CursorExpired);
}

#[actix_web::test]
async fn home_confirms_what_the_replica_does_not_know() {
    let regions = Regions::start().await;
    let unused = "/api/agents/019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";
    let response = regions.far.reader().get(unused).await;
    assert_eq!(response.header("x-served-by"), "home");
    response.problem(ProblemCode::AgentNotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_was_streamed_is_read_through_the_same_node() {
    let replayed = Replayed::everything();
    let wrapped = replayed.clone();
    let mut regions =
        Regions::start_with(|far| far.wrap_storage(move |storage| wrapped.wrap_storage(storage)))
            .await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&regions.home.agent(draft).await);
    let far = regions.far.writer();
    let message = json!({"agentId": agent, "message": "Hello", "stream": true});
    let request = far.request("POST", "/api/chat").json(&message);
    let mut stream = EventStream::open(request).await;
    let started = stream.next_of_type("turn.started").await;
    let call = regions.script.next_call().await;
    // The replica has the beginning of the turn, but not its end.
    let head = regions.home.writer().get("/api/events").await.ok()["headSeq"].clone();
    let head = head.as_i64().expect("a position");
    replayed.stop_at(head);
    call.answer("Hi.").await;
    let last = stream.remaining().await.pop().expect("an event");
    assert_eq!(last.name, "turn.completed");
    assert_eq!(last.data["seq"], head + 1);
    let path = format!("/api/turns/{}", started["turnId"].as_str().expect("an id"));
    let read = far.get(&path).await;
    assert_eq!(read.header("x-served-by"), "home");
    assert_eq!(read.ok()["status"], "completed");
    replayed.resume();
    let began = Instant::now();
    while far.get(&path).await.header("x-served-by") != "replica" {
        assert!(began.elapsed() < Duration::from_secs(5), "still at home");
    }
}

#[actix_web::test]
async fn another_node_at_home_reads_again_what_a_read_requires() {
    let regions = Regions::start().await;
    let other = home_builder(&regions.database).join(&regions.home).await;
    let (writer, reader) = (regions.home.writer(), other.reader());
    let created = writer.post("/api/agents", json!({"name": "0"})).await;
    let path = created.header("location").to_owned();
    for number in 1..=50 {
        reader.get(&path).await.ok();
        let name = number.to_string();
        let changed = writer.patch(&path, json!({"name": name})).await;
        let position = changed.header("x-consistency").to_owned();
        let read = reader.request("GET", &path);
        let read = read.header("X-Consistency", &position).send().await;
        assert_eq!(read.ok()["name"], name);
    }
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_through_another_node_has_the_position_of_its_event() {
    let mut regions = Regions::start().await;
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let other = home_builder(&regions.database)
        .wrap_storage(move |storage| wrapped.wrap_storage(storage))
        .join(&regions.home)
        .await;
    let (home, other_writer) = (regions.home.writer(), other.writer());
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&regions.home.agent(draft).await);
    let own = json!({"name": "Grace"});
    other_writer.post("/api/agents", own).await.created();
    // From now on, the other node does not learn what this one writes.
    probe.inject("events.changes", InjectedFault::Slow);
    let chat = home.request("POST", "/api/chat");
    let chat = chat.json(&json!({"agentId": agent, "message": "Hello"}));
    let turn = chat.header("Prefer", "respond-async").send().await;
    let path = format!("/api/turns/{}/cancel", id_of(&turn.json()));
    let call = regions.script.next_call().await;
    call.send_text("Well").await;
    let cancelled = other_writer.request("POST", &path).send().await;
    let position = cancelled.header("x-consistency").to_owned();
    assert_eq!(cancelled.ok()["status"], "cancelled");
    let newest = home.get("/api/events").await.ok();
    assert_eq!(newest["headSeq"].to_string(), position);
    probe.clear_faults();
    other.stop().await;
}
