//! Cursors: what happened since, and then what happens.

use serde_json::json;

use super::client::{Socket, Upgrade};
use crate::harness::Api;

#[tokio::test]
async fn replays_what_happened_since_and_then_goes_on_live() {
    let api = Api::start().await;
    let first = api.agent_id().await;
    let second = api.agent_id().await;
    let mut socket = Upgrade::of(&api).by(&api.reader()).open().await;
    let channels = ["tenant".to_owned(), format!("agent:{second}")];
    let connected = socket
        .connect(json!({"channels": channels, "since": 0}))
        .await;
    assert_eq!(connected["headSeq"], 2);
    for (channel, name) in connected["channels"]
        .as_array()
        .unwrap()
        .iter()
        .zip(&channels)
    {
        assert_eq!(
            *channel,
            json!({"channel": name, "ok": true, "recovered": true})
        );
    }
    let mut told = [Vec::new(), Vec::new()];
    let mut caught_up = 0;
    while caught_up < 2 {
        let frame = socket.next().await;
        if frame["type"] == "caughtUp" {
            assert_eq!(frame["seq"], 2);
            caught_up += 1;
            continue;
        }
        for (told, channel) in told.iter_mut().zip(&channels) {
            if frame["channels"]
                .as_array()
                .unwrap()
                .contains(&json!(channel))
            {
                told.push(frame["event"]["agentId"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(told, [vec![first, second.clone()], vec![second.clone()]]);
    let path = format!("/api/agents/{second}");
    api.writer().patch(&path, json!({"name": "Bob"})).await.ok();
    let frame = socket.next_of("event").await;
    assert_eq!(frame["event"]["seq"], 3);
    assert_eq!(frame["channels"].as_array().unwrap().len(), 2);
    api.stop().await;
}

#[tokio::test]
async fn a_client_that_was_away_goes_on_where_it_was() {
    let api = Api::start().await;
    let mut socket = Socket::connected(&api, &api.reader(), &["tenant"]).await;
    api.agent_id().await;
    let last = socket.event().await["seq"].as_i64().unwrap();
    drop(socket);
    let mut witness = Socket::connected(&api, &api.reader(), &["tenant"]).await;
    api.agent_id().await;
    api.agent_id().await;
    // What others are told is the present: a client is caught up when it has that.
    while witness.event().await["seq"] != last + 2 {}
    let mut socket = Upgrade::of(&api).by(&api.reader()).open().await;
    socket
        .connect(json!({"channels": ["tenant"], "since": last}))
        .await;
    assert_eq!(socket.event().await["seq"], last + 1);
    assert_eq!(socket.event().await["seq"], last + 2);
    let caught_up = socket.next_of("caughtUp").await;
    assert_eq!(
        (&caught_up["channel"], &caught_up["seq"]),
        (&json!("tenant"), &json!(last + 2))
    );
    api.stop().await;
}

#[tokio::test]
async fn a_cursor_that_the_log_does_not_reach_is_told_so() {
    let api = Api::start().await;
    api.agent_id().await;
    let mut socket = Upgrade::of(&api).by(&api.reader()).open().await;
    let connected = socket
        .connect(json!({"channels": ["tenant"], "since": 99}))
        .await;
    assert_eq!(connected["channels"][0]["recovered"], false);
    let resync = socket.next_of("resync").await;
    assert_eq!(
        resync,
        json!({"type": "resync", "channel": "tenant", "firstSeq": 1, "headSeq": 1, "reason": "retention"})
    );
    api.agent_id().await;
    assert_eq!(socket.event().await["seq"], 2);
    api.stop().await;
}
