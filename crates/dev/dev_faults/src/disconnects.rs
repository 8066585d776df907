//! F6: clients disconnect during a stream.

use std::time::Duration;

use anyhow::Result;
use dev_load::{
    Endpoint,
    http::{RequestError, ResponseStream, within},
};
use tokio::{task::JoinSet, time::Instant};

use super::{
    acknowledgements::{Acknowledgements, Deadline, Nodes},
    audit,
    chat::{Agent, Chat, Pacing, ResponseMode, TIMEOUT, TurnRef, turn_ref},
    environment::{Agents, Environment, Store},
    event_stream::EventStream,
    random::Random,
    report::Report,
};

/// The number of disconnects on each store.
const DISCONNECTS: usize = 100;
/// The longest time from the disconnect to the end of the turn.
const END: Duration = Duration::from_secs(15);

/// Disconnects a hundred clients.
pub(super) async fn run(environment: &Environment, store: Store) -> Result<Report> {
    let name = match store {
        Store::Sqlite => "disconnect_sqlite",
        Store::Postgres => "disconnect_postgres",
    };
    let done = format!(
        "{DISCONNECTS} clients disconnect during a stream, on {}",
        store.name()
    );
    let mut report = Report::new("F6", done);
    report.expect_no(&["not started", "not completed", "another turn"]);
    let (service, agents) = environment.start(store, name).await?;
    let endpoint = service.endpoint()?;
    let mut random = Random::new(environment.seed);
    let mut clients = JoinSet::new();
    for number in 0..DISCONNECTS {
        let chat = chat(&agents, format!("{name}-{number:03}"), number, &mut random);
        let events = random.number(0..30);
        clients.spawn(disconnect(chat, endpoint.clone(), events));
    }
    let mut all = Vec::new();
    for disconnected in clients.join_all().await {
        match disconnected {
            Ok(acks) => all.push(acks),
            Err(error) => report.record_loss("not started", || error.to_string()),
        }
    }
    for acks in &all {
        match (acks.replied.first(), acks.accepted.first()) {
            (None, _) => report.record_loss("not completed", || format!("{acks:?}")),
            (Some(replied), Some(started)) if replied != started => {
                report.record_loss("another turn", || format!("{acks:?}"));
            }
            _ => {}
        }
    }
    audit::run(&endpoint, &all, &mut report).await?;
    Ok(report)
}

/// A stream of about thirty events.
fn chat(agents: &Agents, tag: String, number: usize, random: &mut Random) -> Chat {
    let pacing = Pacing {
        first: random.milliseconds(0..200),
        between: random.milliseconds(5..30),
        more: 30,
    };
    Chat {
        agent: Agent::Scripted(agents.scripted.clone(), pacing),
        conversation: None,
        key: number.is_multiple_of(2).then(|| format!("key-{tag}")),
        response_mode: ResponseMode::Stream,
        tag,
    }
}

/// Disconnects after `events` events, then polls the turn, or repeats the chat by its key.
async fn disconnect(
    chat: Chat,
    endpoint: Endpoint,
    events: u64,
) -> Result<Acknowledgements, RequestError> {
    // Without a key, only the first event identifies the turn.
    let events = if chat.key.is_some() {
        events
    } else {
        events.max(1)
    };
    let started = within(TIMEOUT, read_events(&chat, &endpoint, events)).await?;
    let nodes = Nodes::default();
    nodes.set(vec![endpoint]);
    let deadline = Deadline {
        number: 0,
        at: Instant::now() + END,
    };
    let has_key = chat.key.is_some();
    let mut acks = Acknowledgements::none(chat);
    acks.accepted.extend(started.clone());
    match started {
        Some(turn_ref) if !has_key => {
            acks.wait_for(&turn_ref, &nodes, deadline).await;
            Ok(acks)
        }
        _ => {
            acks.chat.response_mode = ResponseMode::Full;
            Ok(acks.send_until_replied(nodes, deadline).await)
        }
    }
}

/// Reads `events` events and drops the connection.
async fn read_events(
    chat: &Chat,
    endpoint: &Endpoint,
    events: u64,
) -> Result<Option<TurnRef>, RequestError> {
    let response = ResponseStream::open(chat.request(endpoint)).await?;
    if response.status != 200 {
        return Err(RequestError::Malformed);
    }
    let (mut stream, mut started) = (EventStream::new(response), None);
    for _ in 0..events {
        let Some(event) = stream.next().await? else {
            break;
        };
        started = started.or_else(|| turn_ref(&event.data, "turnId"));
    }
    Ok(started)
}
