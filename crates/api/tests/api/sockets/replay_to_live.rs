//! The transition from replay to live events.

use serde_json::{Value, json};

use super::client::{SocketClient, Upgrade};
use crate::api_server::{ApiServer, id_of};

const ROUNDS: i64 = 50;
const WRITERS: usize = 4;
/// The number of changes of each writer.
const CHANGES: usize = 5;

/// Changes both agents concurrently, and finally the first one once more.
async fn write(api: &ApiServer, agents: &[String; 2], round: i64) {
    let writers = (0..WRITERS).map(|number| {
        let (writer, agent) = (api.writer(), &agents[number % 2]);
        async move {
            let path = format!("/api/agents/{agent}");
            for count in 0..CHANGES {
                let name = json!({"name": format!("{round} {number} {count}")});
                writer.patch(&path, name).await.ok();
            }
        }
    });
    futures::future::join_all(writers).await;
    let path = format!("/api/agents/{}", agents[0]);
    let name = json!({"name": format!("{round} at last")});
    api.writer().patch(&path, name).await.ok();
}

/// The events of each channel after a position, up to the last one.
async fn event_positions(
    api: &ApiServer,
    channels: &[String; 2],
    since: i64,
    last: i64,
) -> [Vec<i64>; 2] {
    let mut socket = Upgrade::new(api).with_caller(&api.reader()).open().await;
    let members = json!({"channels": channels, "since": since});
    socket.connect(members).await;
    let mut received: [Vec<i64>; 2] = [Vec::new(), Vec::new()];
    while received
        .iter()
        .any(|received| received.last() != Some(&last))
    {
        let frame = socket.next().await;
        let Some(seq) = frame["event"]["seq"].as_i64() else {
            continue;
        };
        let named = frame["channels"].as_array().expect("channels");
        for (received, channel) in received.iter_mut().zip(channels) {
            if named.contains(&json!(channel)) {
                received.push(seq);
            }
        }
    }
    received
}

fn positions(page: &Value) -> Vec<i64> {
    let events = page["data"].as_array().expect("a page").iter();
    events
        .map(|event| event["seq"].as_i64().expect("a position"))
        .collect()
}

/// Each channel receives every event once and in order, for any interleaving of writers and
/// subscribers.
#[tokio::test(flavor = "multi_thread")]
async fn no_event_is_lost_or_repeated_when_a_replay_reaches_the_present() {
    let api = ApiServer::start().await;
    let agents = [api.agent_id().await, api.agent_id().await];
    let channels = ["tenant".to_owned(), format!("agent:{}", agents[0])];
    for round in 0..ROUNDS {
        let page = api.reader().get("/api/events").await.ok();
        let head = page["headSeq"].as_i64().unwrap();
        let since = (head - round % 7 * 3).max(0);
        let last = head + i64::try_from(WRITERS * CHANGES + 1).unwrap();
        let writing = write(&api, &agents, round);
        let reading = event_positions(&api, &channels, since, last);
        let ((), [tenant, agent]) = tokio::join!(writing, reading);
        let path = format!("/api/events?since={since}&limit=100");
        let page = api.reader().get(&path).await.ok();
        assert_eq!(tenant, positions(&page), "round {round}");
        assert_eq!(tenant.last(), Some(&last), "round {round}");
        let path = format!("{path}&agentId={}", agents[0]);
        let page = api.reader().get(&path).await.ok();
        assert_eq!(agent, positions(&page), "round {round}");
    }
    api.stop().await;
}

/// Subscribes to a channel repeatedly while it is followed because of a chat.
async fn chat_and_subscribe(socket: &mut SocketClient, chat: Value, channel: &str) {
    let chat = socket.send_command("chat", chat).await;
    let mut commands = vec![chat];
    for _ in 0..3 {
        let members = json!({"channel": channel});
        commands.push(socket.send_command("subscribe", members).await);
    }
    for id in commands {
        let reply = socket.reply(id).await;
        assert_eq!(reply["ok"], true, "{reply}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_event_is_lost_or_repeated_by_a_second_subscribe() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for round in 0..ROUNDS {
        let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
        let channel = format!("conversation:{conversation}");
        let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
        let message = "Hello";
        let chat = json!({"agentId": agent, "conversationId": conversation, "message": message});
        chat_and_subscribe(&mut socket, chat.clone(), &channel).await;
        chat_and_subscribe(&mut socket, chat, &channel).await;
        let mut received = Vec::new();
        let mut ends = 0;
        while ends < 2 {
            let event = socket.event().await;
            ends += usize::from(event["type"] == "turn.completed");
            // The creation may have been sent before the subscription.
            if event["type"] != "conversation.created" {
                received.push(event["seq"].as_i64().unwrap());
            }
        }
        let path = format!("/api/events?since=0&limit=100&conversationId={conversation}");
        let expected = positions(&api.reader().get(&path).await.ok());
        assert_eq!(received, expected[1..], "round {round}");
        assert_eq!(socket.remaining().await, Vec::<Value>::new());
    }
    api.stop().await;
}
