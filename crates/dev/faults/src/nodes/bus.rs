//! N6: a node is cut off from the bus, or from the store.

use std::time::Duration;

use anyhow::{Result, bail};
use dev_load::{
    Endpoint,
    service::{Service, Settings},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    kill::{final_log, start_load},
    reader::{Reader, Readers},
    relay::{Link, Relay},
};
use crate::{
    acknowledgements::{Acknowledgements, Nodes},
    audit,
    chat::{Agent, Chat, Outcome, ResponseMode, TIMEOUT},
    chat_load::ChatLoad,
    environment::{Agents, Environment, Store},
    random::Random,
    report::Report,
};

/// The interval of chats.
const CHAT_INTERVAL: Duration = Duration::from_millis(25);
/// The time of chats before the fault, and after it.
const BEFORE: Duration = Duration::from_secs(2);
const AFTERWARDS: Duration = Duration::from_secs(3);
/// The longest delay of an event while signals are lost.
const DELAY: Duration = Duration::from_millis(1_500);
/// The longest delay after the store is back, and until it answers.
const STORE_DELAY: Duration = Duration::from_secs(5);
/// The longest until signals arrive again.
const RECOVERY: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(50);
/// The number of restarts of the bus, and the time between two.
const RESTARTS: u32 = 10;
const RESTART_INTERVAL: Duration = Duration::from_millis(600);

/// A fault between one of two nodes and Postgres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BusFault {
    /// The connections of the bus are closed and rejected.
    Cut,
    /// They are closed repeatedly, and accepted at once.
    Restarted,
    /// They transfer nothing, for less time than the node waits for a signal.
    Slow,
    /// They transfer nothing, for more time than that.
    Silent,
    /// They transfer notifications twice, and in another order.
    Shuffled,
    /// All other connections are closed and rejected.
    StoreCut,
}

impl BusFault {
    pub(crate) const ALL: [Self; 6] = [
        Self::Cut,
        Self::Restarted,
        Self::Slow,
        Self::Silent,
        Self::Shuffled,
        Self::StoreCut,
    ];

    const fn database(self) -> &'static str {
        match self {
            Self::Cut => "nodes_bus_cut",
            Self::Restarted => "nodes_bus_restarted",
            Self::Slow => "nodes_bus_slow",
            Self::Silent => "nodes_bus_silent",
            Self::Shuffled => "nodes_bus_shuffled",
            Self::StoreCut => "nodes_store_cut",
        }
    }

    fn description(self) -> String {
        let what = match self {
            Self::Cut => "cut off from the bus",
            Self::Restarted => return format!("one of two nodes loses its bus {RESTARTS} times"),
            Self::Slow => "gets no signals, and then all at once",
            Self::Silent => "gets no signals on open connections",
            Self::Shuffled => "gets signals twice and in another order",
            Self::StoreCut => "cut off from the store, but not from the bus",
        };
        format!(
            "one of two nodes {what} for {} s",
            self.duration().as_secs()
        )
    }

    fn duration(self) -> Duration {
        match self {
            Self::Cut | Self::Slow | Self::Shuffled => Duration::from_secs(6),
            Self::Restarted => RESTART_INTERVAL * RESTARTS,
            // Longer than a lease.
            Self::Silent | Self::StoreCut => Duration::from_secs(12),
        }
    }

    /// The value of `bus_connected` at the end of the fault.
    const fn leaves_bus(self) -> Option<bool> {
        match self {
            Self::Cut | Self::Silent => Some(false),
            Self::Slow | Self::Shuffled => Some(true),
            // Any; after a cut from the store, the node cannot check a credential.
            Self::Restarted | Self::StoreCut => None,
        }
    }
}

/// Two nodes, the second of which reaches Postgres through a relay.
struct Pair {
    one: Endpoint,
    other: Endpoint,
    relay: Relay,
    agents: Agents,
    _services: [Service; 2],
}

impl Pair {
    async fn start(environment: &Environment, name: &str) -> Result<Self> {
        let settings = environment.settings(Store::Postgres, name)?;
        let relay = Relay::start(&settings.database_url).await?;
        let one = Service::start(settings.clone())?;
        let other = Service::start(Settings {
            database_url: relay.url.clone(),
            ..settings
        })?;
        let pair = Self {
            one: one.endpoint()?,
            other: other.endpoint()?,
            relay,
            agents: Agents::create(&one.endpoint()?).await?,
            _services: [one, other],
        };
        for endpoint in [&pair.one, &pair.other] {
            wait_for_bus(endpoint, true).await?;
        }
        Ok(pair)
    }

    /// Starts chats on the first node, which has no fault.
    async fn start_chats(
        &self,
        name: &str,
        random: Random,
        duration: Duration,
    ) -> Result<JoinSet<Vec<Acknowledgements>>> {
        let nodes = Nodes::default();
        nodes.set(vec![self.one.clone()]);
        let chats = ChatLoad::prepare(&self.one, &self.agents, name.to_owned(), random);
        let mut chats = chats.await?;
        chats.interval = CHAT_INTERVAL;
        Ok(start_load(chats, nodes, duration))
    }

    async fn inject(&self, fault: BusFault) {
        match fault {
            BusFault::Cut => self.relay.set_bus(Link::Closed),
            BusFault::Slow | BusFault::Silent => self.relay.set_bus(Link::Stalled),
            BusFault::Shuffled => self.relay.set_bus(Link::Shuffled),
            BusFault::StoreCut => self.relay.set_store(Link::Closed),
            BusFault::Restarted => {
                for _ in 0..RESTARTS {
                    self.relay.set_bus(Link::Closed);
                    sleep(RESTART_INTERVAL / 10).await;
                    self.relay.set_bus(Link::Open);
                    sleep(RESTART_INTERVAL * 9 / 10).await;
                }
                return;
            }
        }
        sleep(fault.duration()).await;
    }

    /// Repeats a chat on the node that had the fault, until it is replied to.
    async fn wait_for_reply(&self, name: &str) -> Result<()> {
        let started = Instant::now();
        for number in 0.. {
            let chat = Chat {
                tag: format!("{name}-other-{number:04}"),
                agent: Agent::Rules(self.agents.rules.clone()),
                conversation: None,
                key: None,
                response_mode: ResponseMode::Full,
            };
            let outcome = chat.send(&self.other, TIMEOUT).await;
            if matches!(outcome, Outcome::Replied(_)) {
                break;
            }
            if started.elapsed() > RECOVERY {
                bail!("the node does not recover: {outcome:?}");
            }
            sleep(POLL).await;
        }
        Ok(())
    }
}

/// Injects a fault while clients of both nodes follow chats, and compares what they received.
pub(crate) async fn run(environment: &Environment, fault: BusFault) -> Result<Report> {
    let name = fault.database();
    let mut report = Report::new("N6", fault.description());
    report.expect_no(&["fault without effect", "no live text afterwards"]);
    let pair = Pair::start(environment, name).await?;
    let random = Random::new(environment.seed);
    let one = Readers::start(vec![pair.one.clone()]).await?;
    let other = Readers::start(vec![pair.other.clone()]).await?;
    let duration = BEFORE + fault.duration();
    let load = pair.start_chats(name, random.clone(), duration).await?;
    sleep(BEFORE).await;
    pair.inject(fault).await;
    if let Some(has) = fault.leaves_bus()
        && has_bus(&pair.other).await? != has
    {
        report.record_loss("fault without effect", || {
            format!("bus_connected is {}", !has)
        });
    }
    if pair.relay.cut() == 0 {
        report.record_loss("fault without effect", || {
            "no connection was cut".to_owned()
        });
    }
    let healed = Instant::now();
    pair.relay.set_bus(Link::Open);
    pair.relay.set_store(Link::Open);
    pair.wait_for_reply(name).await?;
    let seconds = healed.elapsed().as_secs_f64();
    report.add_bounded(
        "reply of the node after",
        seconds,
        "s",
        STORE_DELAY.as_secs_f64(),
    );
    wait_for_bus(&pair.other, true).await?;
    report.add_figure(
        "signals arrive again after",
        healed.elapsed().as_secs_f64(),
        "s",
    );
    let mut all: Vec<_> = load.join_all().await.into_iter().flatten().collect();
    let after = format!("{name}-after");
    let late = Readers::start(vec![pair.other.clone()]).await?;
    let load = pair.start_chats(&after, random, AFTERWARDS).await?;
    all.extend(load.join_all().await.into_iter().flatten());
    let log = final_log(&pair.one).await?;
    let late = late.end(log.head, &mut report).await?;
    let streamed = late.iter().map(|reader| reader.view.streamed).sum();
    report.count("live texts afterwards", streamed);
    if streamed == 0 {
        report.record_loss("no live text afterwards", || "none is complete".to_owned());
    }
    let one = one.end(log.head, &mut report).await?;
    let other = other.end(log.head, &mut report).await?;
    let healed = (fault == BusFault::StoreCut).then_some(healed);
    judge_delays(&one, &other, healed, &mut report);
    audit::run(&pair.one, &all, &mut report).await?;
    Ok(report)
}

/// Compares the arrivals of events at both nodes; those before `healed` count from then on.
fn judge_delays(one: &[Reader], other: &[Reader], healed: Option<Instant>, report: &mut Report) {
    let (mut slowest, mut events) = (Duration::ZERO, 0);
    for (one, other) in one.iter().zip(other) {
        for (seq, at) in &one.arrivals {
            let Some(arrived) = other.arrivals.get(seq) else {
                continue;
            };
            let due = healed.map_or(*at, |healed| healed.max(*at));
            slowest = slowest.max(arrived.saturating_duration_since(due));
            events += 1;
        }
    }
    report.count("events", events);
    let most = if healed.is_some() { STORE_DELAY } else { DELAY };
    report.add_bounded(
        "slowest event of the node",
        slowest.as_secs_f64(),
        "s",
        most.as_secs_f64(),
    );
}

/// Returns whether a node receives signals of other nodes.
pub(super) async fn has_bus(endpoint: &Endpoint) -> Result<bool> {
    Ok(endpoint.metric("bus_connected").await? == Some(1.0))
}

/// Waits until a node receives signals of other nodes, or none.
pub(super) async fn wait_for_bus(endpoint: &Endpoint, has: bool) -> Result<()> {
    let started = Instant::now();
    while has_bus(endpoint).await? != has {
        if started.elapsed() > RECOVERY {
            bail!(
                "bus_connected of a node is still {} after {RECOVERY:?}",
                !has
            );
        }
        sleep(POLL).await;
    }
    Ok(())
}
