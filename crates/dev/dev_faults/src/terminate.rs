//! F7: the process receives `SIGTERM` under load.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use dev_load::{Endpoint, http::RequestError, service::Service};
use tokio::{task::JoinSet, time::sleep};

use super::{
    acknowledgements::{Acknowledgements, Nodes},
    audit,
    chat::{Agent, Chat, Pacing, ResponseMode},
    chat_load::ChatLoad,
    environment::{Agents, Environment, Store, create_conversations},
    event_log::EventLog,
    goodbye::open_sockets,
    random::Random,
    report::Report,
};

/// The time of chats before the signal, and after it.
const BEFORE: Duration = Duration::from_secs(3);
const AFTER: Duration = Duration::from_secs(8);
/// The interval of chats.
const CHAT_INTERVAL: Duration = Duration::from_millis(10);
/// The longest time from the signal to the exit.
const EXIT: Duration = Duration::from_secs(35);
/// The longest time until another node has run the queued turns.
const TAKEN_OVER: Duration = Duration::from_secs(20);
/// The number of streams that take longer than a shutdown.
const LONG_STREAMS: usize = 5;
/// The number of queued turns behind one that does not end in time, without a waiting client.
const QUEUED: usize = 3;

/// A script of one minute.
const MINUTE: Pacing = Pacing {
    first: Duration::from_secs(1),
    between: Duration::from_secs(2),
    more: 28,
};

/// Terminates a service under load.
pub(super) async fn run(environment: &Environment, store: Store) -> Result<Report> {
    let (name, second) = match store {
        Store::Sqlite => ("terminate_sqlite", ""),
        Store::Postgres => ("terminate_postgres", ", beside a second node"),
    };
    let done = format!("SIGTERM under 100 chats/s, on {}{second}", store.name());
    let mut report = Report::new("F7", done);
    report.expect_no(&["cut", "without goodbye", "exit code", "not taken over"]);
    let settings = environment.settings(store, name)?;
    let mut service = Service::start(settings.clone())?;
    let endpoint = service.endpoint()?;
    let agents = Agents::create(&endpoint).await?;
    let second = match store {
        Store::Sqlite => None,
        Store::Postgres => Some(Service::start(settings)?),
    };
    let nodes = Nodes::default();
    nodes.set(vec![endpoint.clone()]);
    let random = Random::new(environment.seed);
    let mut chats = ChatLoad::prepare(&endpoint, &agents, name.to_owned(), random).await?;
    (chats.interval, chats.script) = (CHAT_INTERVAL, 50..3_000);
    let sockets = open_sockets(&endpoint).await?;
    let mut queue = queue(&endpoint, &agents, name).await?;
    let long_streams = long_streams(&endpoint, &agents, name);
    let mut load = JoinSet::new();
    let running_nodes = nodes.clone();
    load.spawn(async move {
        let mut clients = JoinSet::new();
        let duration = BEFORE + AFTER;
        chats.run(&running_nodes, duration, &mut clients).await;
        clients.join_all().await
    });
    // This thread blocks; the load runs on other threads.
    thread::sleep(BEFORE);
    terminate_and_wait(&mut service, &mut report)?;
    if second.is_none() {
        service.restart()?;
    }
    let survivor = second.as_ref().unwrap_or(&service).endpoint()?;
    nodes.set(vec![survivor.clone()]);
    let mut acks: Vec<Acknowledgements> = load.join_all().await.into_iter().flatten().collect();
    acks.extend(long_streams.join_all().await);
    judge_outcomes(&acks, &mut report);
    for goodbye in sockets.join_all().await {
        if let Err(error) = goodbye {
            report.record_loss("without goodbye", || format!("{error:#}"));
        }
    }
    judge_queue(store, &survivor, &queue, &mut report).await?;
    acks.append(&mut queue);
    wait_for_turns(&survivor).await?;
    audit::run(&survivor, &acks, &mut report).await?;
    Ok(report)
}

/// Waits until no turn is in progress: clients may have just repeated an interrupted chat on the
/// other process.
async fn wait_for_turns(endpoint: &Endpoint) -> Result<()> {
    let started = Instant::now();
    let mut log = EventLog::default();
    log.read_on(endpoint).await?;
    while !log.unfinished().is_empty() && started.elapsed() < TAKEN_OVER {
        sleep(Duration::from_millis(100)).await;
        log.read_on(endpoint).await?;
    }
    Ok(())
}

/// Sends the signal, and waits for the exit.
pub(super) fn terminate_and_wait(service: &mut Service, report: &mut Report) -> Result<()> {
    let sent_at = Instant::now();
    service.terminate()?;
    let status = loop {
        if let Some(status) = service.exit_status()? {
            break status;
        }
        if sent_at.elapsed() > EXIT * 2 {
            bail!("the service does not end");
        }
        thread::sleep(Duration::from_millis(20));
    };
    let took = sent_at.elapsed().as_secs_f64();
    report.add_bounded("exit after", took, "s", EXIT.as_secs_f64());
    if !status.success() {
        report.record_loss("exit code", || status.to_string());
    }
    Ok(())
}

/// Starts a turn that does not end in time, and others behind it.
async fn queue(endpoint: &Endpoint, agents: &Agents, name: &str) -> Result<Vec<Acknowledgements>> {
    let conversation = create_conversations(endpoint, &agents.scripted, 1).await?;
    let mut queue = Vec::new();
    for number in 0..=QUEUED {
        let pacing = if number == 0 {
            MINUTE
        } else {
            Pacing::default()
        };
        let mut acks = Acknowledgements::none(Chat {
            tag: format!("{name}-queue-{number}"),
            agent: Agent::Scripted(agents.scripted.clone(), pacing),
            conversation: conversation.first().cloned(),
            key: None,
            response_mode: ResponseMode::Async,
        });
        acks.send(endpoint).await;
        queue.push(acks);
    }
    Ok(queue)
}

/// Starts streams that last longer than the process.
fn long_streams(endpoint: &Endpoint, agents: &Agents, name: &str) -> JoinSet<Acknowledgements> {
    let mut streams = JoinSet::new();
    for number in 0..LONG_STREAMS {
        let mut acks = Acknowledgements::none(Chat {
            tag: format!("{name}-long-{number}"),
            agent: Agent::Scripted(agents.scripted.clone(), MINUTE),
            conversation: None,
            key: None,
            response_mode: ResponseMode::Stream,
        });
        let endpoint = endpoint.clone();
        streams.spawn(async move {
            acks.send(&endpoint).await;
            acks
        });
    }
    streams
}

fn judge_outcomes(all: &[Acknowledgements], report: &mut Report) {
    for acks in all {
        for error in acks.failures.keys() {
            match error {
                RequestError::Truncated | RequestError::TimedOut | RequestError::Malformed => {
                    report.record_loss("cut", || format!("{acks:?}"));
                }
                RequestError::ConnectionRefused => report.count("too late to connect", 1),
                // The system had accepted the connection, and the service closed its listener.
                RequestError::NoResponse => report.count("too late to send", 1),
            }
        }
        for code in acks.rejections.keys() {
            match code.as_str() {
                "interrupted" => report.count("interrupted", 1),
                _ => report.count("other problems", 1),
            }
        }
    }
}

/// Checks that the other node ran the queued turns, or that they ended with the only node.
async fn judge_queue(
    store: Store,
    endpoint: &Endpoint,
    queue: &[Acknowledgements],
    report: &mut Report,
) -> Result<()> {
    let ended = Instant::now();
    loop {
        let mut log = EventLog::default();
        log.read_on(endpoint).await?;
        let logged = |acks: &Acknowledgements| log.turns.get(&acks.accepted.first()?.turn);
        let is_done = |acks: &&Acknowledgements| match (store, logged(acks)) {
            (Store::Sqlite, Some(turn)) => turn.is_final(),
            (Store::Postgres, Some(turn)) => turn.is_completed(),
            (_, None) => false,
        };
        let waiting = queue.iter().skip(1);
        let left: Vec<_> = waiting.filter(|acks| !is_done(acks)).collect();
        if left.is_empty() {
            return Ok(());
        }
        if ended.elapsed() > TAKEN_OVER {
            for acks in left {
                report.record_loss("not taken over", || format!("{acks:?}: {:?}", logged(acks)));
            }
            return Ok(());
        }
        sleep(Duration::from_millis(500)).await;
    }
}
