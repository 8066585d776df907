//! Cursors of sockets that a replica has not reached, as after a change of the region.

use domain::ProblemCode;
use serde_json::{Value, json};

use super::{delayed_log::Replayed, fixture::Regions};
use crate::{
    api_server::id_of,
    sockets::client::{SocketClient, Upgrade},
};

/// Two regions whose replica has replayed two of four events.
async fn behind() -> (Regions, Replayed) {
    let replayed = Replayed::everything();
    let wrapped = replayed.clone();
    let regions =
        Regions::start_with(|far| far.wrap_storage(move |storage| wrapped.wrap_storage(storage)))
            .await;
    replayed.stop_at(2);
    for number in 1..=4 {
        let name = number.to_string();
        regions.home.agent(json!({"name": name})).await;
    }
    (regions, replayed)
}

/// The frames of a channel up to `caughtUp`, without live data.
async fn frames_to_present(socket: &mut SocketClient) -> Vec<Value> {
    let mut frames = Vec::new();
    loop {
        let frame = socket.next().await;
        let is_last = frame["type"] == "caughtUp";
        frames.push(frame);
        if is_last {
            return frames;
        }
    }
}

/// The positions of the events, and then of the present.
fn positions(frames: &[Value]) -> Vec<i64> {
    let position = |frame: &Value| match frame["type"].as_str() {
        Some("event") => frame["event"]["seq"].as_i64(),
        Some("caughtUp") => frame["seq"].as_i64(),
        _ => None,
    };
    let positions = frames.iter().map(position);
    positions.map(|it| it.expect("an event")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_beyond_the_replica_waits_for_it() {
    let (regions, replayed) = behind().await;
    let far = regions.far.reader();
    let mut socket = Upgrade::new(&regions.far).with_caller(&far).open().await;
    let members = json!({"channels": ["tenant"], "since": 3});
    let connected = socket.connect(members).await;
    let channel = &connected["channels"][0];
    assert_eq!(
        (&channel["ok"], &channel["recovered"]),
        (&true.into(), &true.into())
    );
    replayed.resume();
    let frames = frames_to_present(&mut socket).await;
    assert_eq!(positions(&frames), [4, 4]);
    regions.home.agent(json!({"name": "5"})).await;
    let next = socket.next_of_type("event").await;
    assert_eq!(next["event"]["seq"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_beyond_the_replica_does_not_delay_others() {
    let (regions, replayed) = behind().await;
    let far = regions.far.reader();
    let mut socket = SocketClient::connected(&regions.far, &far, &[]).await;
    let events = regions.home.reader().get("/api/events?since=0").await.ok();
    let id = events["data"][0]["agentId"].as_str().expect("an id");
    let ahead = json!({"channel": "tenant", "since": 4});
    let subscribed = socket.expect_success("subscribe", ahead).await;
    assert_eq!(subscribed["recovered"], true, "{subscribed}");
    let first = json!({"channel": format!("agent:{id}"), "since": 0});
    socket.expect_success("subscribe", first).await;
    assert_eq!(positions(&frames_to_present(&mut socket).await), [1, 2]);
    regions.home.agent(json!({"name": "5"})).await;
    replayed.resume();
    let frames = frames_to_present(&mut socket).await;
    assert_eq!(positions(&frames), [5, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn home_rejects_a_cursor_that_it_has_not_reached_either() {
    let (regions, _) = behind().await;
    let far = regions.far.reader();
    let mut socket = SocketClient::connected(&regions.far, &far, &[]).await;
    let beyond = json!({"channel": "tenant", "since": 1_000});
    let subscribed = socket.expect_success("subscribe", beyond).await;
    assert_eq!(subscribed["recovered"], false);
    let resync = socket.next_of_type("resync").await;
    assert_eq!(
        (&resync["headSeq"], &resync["reason"]),
        (&2.into(), &"retention".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_home_a_cursor_beyond_the_replica_is_not_judged() {
    let (regions, _) = behind().await;
    let far = regions.far.reader();
    let mut socket = SocketClient::connected(&regions.far, &far, &[]).await;
    regions.home.stop().await;
    let ahead = json!({"channel": "tenant", "since": 4});
    let problem = socket.expect_problem("subscribe", ahead).await;
    assert_eq!(problem["code"], ProblemCode::HomeUnavailable.as_str());
    assert_eq!(problem["retryable"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn home_confirms_channels_that_the_replica_does_not_know() {
    let regions = Regions::start_unreplicated().await;
    let agent = regions.home.agent_id().await;
    let draft = json!({"agentId": agent});
    let conversation = id_of(&regions.home.conversation(draft).await);
    let far = regions.far.reader();
    let mut socket = SocketClient::connected(&regions.far, &far, &[]).await;
    for channel in [
        format!("agent:{agent}"),
        format!("conversation:{conversation}"),
    ] {
        let subscribe = json!({"channel": channel});
        socket.expect_success("subscribe", subscribe).await;
    }
    // A conversation that does not exist at home either.
    let unused = json!({"channel": format!("conversation:{agent}")});
    let problem = socket.expect_problem("subscribe", unused).await;
    assert_eq!(problem["code"], ProblemCode::ConversationNotFound.as_str());
}
