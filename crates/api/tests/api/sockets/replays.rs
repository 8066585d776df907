//! Cursors: past events, then new ones.

use serde_json::json;
use sqlx::{ConnectOptions as _, sqlite::SqliteConnectOptions};

use super::client::{SocketClient, Upgrade};
use crate::api_server::ApiServer;

#[tokio::test]
async fn a_replay_is_followed_by_live_events() {
    let api = ApiServer::start().await;
    let first = api.agent_id().await;
    let second = api.agent_id().await;
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
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
    let mut observed = [Vec::new(), Vec::new()];
    let mut caught_up = 0;
    while caught_up < 2 {
        let frame = socket.next().await;
        if frame["type"] == "caughtUp" {
            assert_eq!(frame["seq"], 2);
            caught_up += 1;
            continue;
        }
        for (observed, channel) in observed.iter_mut().zip(&channels) {
            if frame["channels"]
                .as_array()
                .unwrap()
                .contains(&json!(channel))
            {
                observed.push(frame["event"]["agentId"].as_str().unwrap().to_owned());
            }
        }
    }
    assert_eq!(
        observed,
        [vec![first, second.clone()], vec![second.clone()]]
    );
    let path = format!("/api/agents/{second}");
    api.writer().patch(&path, json!({"name": "Bob"})).await.ok();
    let frame = socket.next_of_type("event").await;
    assert_eq!(frame["event"]["seq"], 3);
    assert_eq!(frame["channels"].as_array().unwrap().len(), 2);
    api.stop().await;
}

#[tokio::test]
async fn a_reconnecting_client_resumes_at_its_cursor() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    api.agent_id().await;
    let last = socket.event().await["seq"].as_i64().unwrap();
    drop(socket);
    let mut witness = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    api.agent_id().await;
    api.agent_id().await;
    // Other sockets show the present: a client is caught up when it has received the same.
    while witness.event().await["seq"] != last + 2 {}
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    socket
        .connect(json!({"channels": ["tenant"], "since": last}))
        .await;
    assert_eq!(socket.event().await["seq"], last + 1);
    assert_eq!(socket.event().await["seq"], last + 2);
    let caught_up = socket.next_of_type("caughtUp").await;
    assert_eq!(
        (&caught_up["channel"], &caught_up["seq"]),
        (&json!("tenant"), &json!(last + 2))
    );
    api.stop().await;
}

#[tokio::test]
async fn a_cursor_outside_the_log_receives_a_resync() {
    let api = ApiServer::start().await;
    api.agent_id().await;
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    let connected = socket
        .connect(json!({"channels": ["tenant"], "since": 99}))
        .await;
    assert_eq!(connected["channels"][0]["recovered"], false);
    let resync = socket.next_of_type("resync").await;
    assert_eq!(
        resync,
        json!({"type": "resync", "channel": "tenant", "firstSeq": 1, "headSeq": 1, "reason": "retention"})
    );
    api.agent_id().await;
    assert_eq!(socket.event().await["seq"], 2);
    api.stop().await;
}

/// Adds this many updates of an agent to the log, faster than requests could.
async fn add_updates(api: &ApiServer, agent: &str, count: i64) {
    let options = SqliteConnectOptions::new().filename(api.database_file());
    let mut connection = options.connect().await.expect("the store's file");
    let added = sqlx::query(
        "with recursive n (i) as (select 1 union all select i + 1 from n where i < ?1) \
         insert into events (tenant_id, seq, type, time, agent_id, actor) \
         select t.id, t.head_seq + i, 'agent.updated', cast(unixepoch('subsec') * 1000 as integer), \
             unhex(?2, '-'), 'system' \
         from n cross join tenants t where t.id = 'default'; \
         update tenants set head_seq = head_seq + ?1 where id = 'default'",
    );
    let added = added.bind(count).bind(agent).execute(&mut connection).await;
    added.expect("the log takes them");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_with_more_events_than_a_replay_holds_is_not_recovered() {
    let api = ApiServer::start().await;
    let (busy, quiet) = (api.agent_id().await, api.agent_id().await);
    add_updates(&api, &busy, 10_000).await;
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    let channels = [
        "tenant".to_owned(),
        format!("agent:{busy}"),
        format!("agent:{quiet}"),
    ];
    let connected = socket.connect(json!({"channels": channels, "since": 0}));
    let connected = connected.await;
    let recovered: Vec<_> = connected["channels"]
        .as_array()
        .expect("the channels")
        .iter()
        .map(|channel| channel["recovered"] == true)
        .collect();
    assert_eq!(recovered, [false, false, true]);
    let mut resyncs = Vec::new();
    let mut observed = Vec::new();
    loop {
        let frame = socket.next().await;
        match frame["type"].as_str() {
            Some("resync") => {
                assert_eq!(frame["reason"], "limit");
                resyncs.push(frame["channel"].as_str().map(ToOwned::to_owned));
            }
            Some("event") => observed.push(frame["event"]["seq"].as_i64()),
            Some("caughtUp") => {
                assert_eq!(frame["channel"], channels[2]);
                break;
            }
            _ => {}
        }
    }
    resyncs.sort();
    assert_eq!(
        resyncs,
        [Some(channels[1].clone()), Some(channels[0].clone())],
        "before anything of them was sent"
    );
    assert_eq!(observed, [Some(2)]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_as_many_events_as_a_replay_holds_are_recovered() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    add_updates(&api, &agent, 10_000).await;
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    let channels = json!(["tenant"]);
    let connected = socket.connect(json!({"channels": channels, "since": 1}));
    assert_eq!(connected.await["channels"][0]["recovered"], true);
    let mut next = 2;
    loop {
        let frame = socket.next().await;
        match frame["type"].as_str() {
            Some("event") => {
                assert_eq!(frame["event"]["seq"], next);
                next += 1;
            }
            Some("caughtUp") => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(next, 10_002);
    api.stop().await;
}
