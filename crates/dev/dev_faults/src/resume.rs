//! Clients lose their sockets repeatedly, and resume by the cursor.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use dev_load::{Endpoint, client_view::ClientView, service::Service};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{
    acknowledgements::{Acknowledgements, Deadline, Nodes},
    audit,
    chat::{Agent, Chat, Pacing, ResponseMode},
    environment::{Agents, Environment, Store},
    event_log::EventLog,
    random::Random,
    report::Report,
};

/// The number of clients, and how often each loses its socket.
const CLIENTS: usize = 4;
const LOSSES: usize = 250;
/// The number of turns that stream meanwhile.
const TURNS: usize = 200;
/// The longest time until a client has caught up after the last event.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Streams turns while clients lose their sockets at random times.
pub(super) async fn run(environment: &Environment, store: Store) -> Result<Report> {
    let (name, on) = match store {
        Store::Sqlite => ("resume_sqlite", "SQLite"),
        Store::Postgres => ("resume_postgres", "Postgres, two nodes in turn"),
    };
    let done = format!(
        "{TURNS} streams, {} sockets lost, on {on}",
        CLIENTS * LOSSES
    );
    let mut report = Report::new("resume", done);
    report.expect_no(&["not once and in order", "another text", "not delivered"]);
    let settings = environment.settings(store, name)?;
    let service = Service::start(settings.clone())?;
    let endpoint = service.endpoint()?;
    let second = match store {
        Store::Sqlite => None,
        Store::Postgres => Some(Service::start(settings)?),
    };
    let services = std::iter::once(&service).chain(&second);
    let endpoints: Vec<Endpoint> = services.map(Service::endpoint).collect::<Result<_>>()?;
    let agents = Agents::create(&endpoint).await?;
    let mut random = Random::new(environment.seed);
    let nodes = Nodes::default();
    nodes.set(endpoints.clone());
    let mut turns = start_turns(&agents, name, &nodes, &mut random);
    let left = Arc::new(AtomicUsize::new(CLIENTS));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let seed = Random::new(environment.seed.wrapping_add(u64::try_from(number)?));
        clients.spawn(follow(endpoints.clone(), seed, Arc::clone(&left)));
    }
    let mut acks = Vec::new();
    while let Some(ended) = turns.join_next().await {
        acks.push(ended.context("a chat's task panicked")?);
    }
    let mut log = EventLog::default();
    for client in clients.join_all().await {
        log.read_on(&endpoint).await?;
        judge(client?, &log, &acks, &mut report);
    }
    audit::run(&endpoint, &acks, &mut report).await?;
    Ok(report)
}

/// Starts ten turns a second, and waits for their replies.
fn start_turns(
    agents: &Agents,
    name: &str,
    nodes: &Nodes,
    random: &mut Random,
) -> JoinSet<Acknowledgements> {
    let mut turns = JoinSet::new();
    for number in 0..TURNS {
        let tag = format!("{name}-{number:03}");
        let pacing = Pacing {
            first: random.milliseconds(0..300),
            between: random.milliseconds(10..80),
            more: usize::try_from(random.number(10..60)).unwrap_or_default(),
        };
        let acks = Acknowledgements::none(Chat {
            agent: Agent::Scripted(agents.scripted.clone(), pacing),
            conversation: None,
            key: Some(format!("key-{tag}")),
            response_mode: ResponseMode::Full,
            tag,
        });
        let (nodes, start) = (nodes.clone(), Duration::from_millis(100));
        let start = start * u32::try_from(number).unwrap_or_default();
        let deadline = Deadline {
            number,
            at: Instant::now() + start + TIMEOUT,
        };
        turns.spawn(async move {
            sleep(start).await;
            acks.send_until_replied(nodes, deadline).await
        });
    }
    turns
}

/// Follows all events with sockets that are lost, and then until it has caught up.
async fn follow(
    endpoints: Vec<Endpoint>,
    mut random: Random,
    left: Arc<AtomicUsize>,
) -> Result<ClientView> {
    let mut view = ClientView::default();
    let sockets = endpoints.iter().cycle();
    for endpoint in sockets.take(LOSSES) {
        let mut socket = view.connect(endpoint).await?;
        let until_lost = random.milliseconds(1..140);
        // The timeout may cut any frame.
        if let Ok(ended) = timeout(until_lost, view.read(&mut socket, i64::MAX)).await {
            ended?;
        }
        if random.is_one_in(2) {
            socket.close().await?;
        }
        view.sockets_lost += 1;
    }
    left.fetch_sub(1, Ordering::Relaxed);
    catch_up(&mut view, &endpoints, &left).await?;
    Ok(view)
}

/// Resumes until all turns are final and no client is left.
async fn catch_up(view: &mut ClientView, endpoints: &[Endpoint], left: &AtomicUsize) -> Result<()> {
    let endpoint = endpoints.first().context("no running node")?;
    let deadline = Instant::now() + TIMEOUT * 2;
    while Instant::now() < deadline {
        let mut log = EventLog::default();
        log.read_on(endpoint).await?;
        let mut socket = view.connect(endpoint).await?;
        let read = timeout(TIMEOUT, view.read(&mut socket, log.head)).await;
        read.context("a client did not catch up")??;
        let all = log.turns.values().filter(|turn| turn.is_final());
        if all.count() >= TURNS && left.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        sleep(Duration::from_millis(500)).await;
    }
    bail!("the turns do not end")
}

fn judge(view: ClientView, log: &EventLog, acks: &[Acknowledgements], report: &mut Report) {
    report.count("sockets lost", view.sockets_lost);
    report.count("turns streamed completely", view.streamed);
    report.record_losses("not once and in order", view.violations);
    for acks in acks {
        for turn_ref in acks.replied.iter().take(1) {
            match view.completed.get(&turn_ref.turn) {
                None => report.record_loss("not delivered", || format!("{acks:?}")),
                Some(text) if *text != acks.chat.reply() => {
                    report.record_loss("another text", || format!("{text} of {acks:?}"));
                }
                Some(_) => {}
            }
        }
    }
    let completed = log.turns.values().filter(|turn| turn.is_completed());
    if completed.count() != view.completed.len() {
        report.record_loss("not delivered", || {
            format!("{} turns", view.completed.len())
        });
    }
}
