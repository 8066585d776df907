//! N6: a node is cut off from the bus, or from the store.

use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};

use super::{
    bus::Bus,
    kill::final_log,
    pair::Pair,
    reader::{Reader, Readers},
    relay::Link,
};
use crate::{audit, environment::Environment, random::Random, report::Report};

/// The time of chats before the fault, and after it.
const BEFORE: Duration = Duration::from_secs(2);
const AFTERWARDS: Duration = Duration::from_secs(3);
/// The longest delay of an event while signals are lost.
const DELAY: Duration = Duration::from_millis(1_500);
/// The longest delay after the store is back, and until it answers.
const STORE_DELAY: Duration = Duration::from_secs(5);
/// The number of restarts of the bus, and the time between two.
const RESTARTS: u32 = 10;
const RESTART_INTERVAL: Duration = Duration::from_millis(600);

/// A fault between one of two nodes and its bus or its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BusFault {
    /// The connections of the bus are closed and rejected.
    Cut,
    /// They are closed repeatedly, and accepted at once. Redis itself is restarted.
    Restarted,
    /// They transfer nothing, for less time than the node waits for a signal.
    Slow,
    /// They transfer nothing, for more time than that.
    Silent,
    /// They transfer signals twice, and in another order.
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

    fn description(self, bus: Bus) -> String {
        let what = match self {
            Self::Cut => "cut off from the bus",
            Self::Restarted if bus == Bus::Redis => {
                return format!("two nodes lose their bus {RESTARTS} times");
            }
            Self::Restarted => return format!("one of two nodes loses its bus {RESTARTS} times"),
            Self::Slow => "gets no signals, and then all at once",
            Self::Silent => "gets no signals on open connections",
            Self::Shuffled => "gets signals twice and in another order",
            Self::StoreCut => "cut off from the store, but not from the bus",
        };
        let seconds = self.duration(bus).as_secs();
        format!("one of two nodes {what} for {seconds} s")
    }

    fn duration(self, bus: Bus) -> Duration {
        match self {
            // A node waits for less than two seconds for a response of Redis.
            Self::Slow if bus == Bus::Redis => Duration::from_secs(1),
            Self::Cut | Self::Slow | Self::Shuffled => Duration::from_secs(6),
            Self::Restarted => RESTART_INTERVAL * RESTARTS,
            // Longer than a lease.
            Self::Silent | Self::StoreCut => Duration::from_secs(12),
        }
    }

    /// Cuts or changes the connections for some time.
    async fn inject(self, environment: &Environment, bus: Bus, pair: &Pair) -> Result<()> {
        match self {
            Self::Cut => pair.set_bus(Link::Closed),
            Self::Slow | Self::Silent => pair.set_bus(Link::Stalled),
            Self::Shuffled => pair.set_bus(Link::Shuffled),
            Self::StoreCut => pair.set_store(Link::Closed),
            Self::Restarted => {
                for _ in 0..RESTARTS {
                    match bus {
                        Bus::Postgres => pair.set_bus(Link::Closed),
                        Bus::Redis => environment.redis()?.kill(),
                    }
                    sleep(RESTART_INTERVAL / 10).await;
                    match bus {
                        Bus::Postgres => pair.set_bus(Link::Open),
                        Bus::Redis => environment.redis()?.restart()?,
                    }
                    sleep(RESTART_INTERVAL * 9 / 10).await;
                }
                return Ok(());
            }
        }
        sleep(self.duration(bus)).await;
        Ok(())
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

/// Injects a fault while clients of both nodes follow chats, and compares what they received.
pub(crate) async fn run(environment: &Environment, bus: Bus, fault: BusFault) -> Result<Report> {
    let name = fault.database();
    let mut report = Report::new("N6", bus.describe(fault.description(bus)));
    report.expect_no(&["fault without effect", "no live text afterwards"]);
    let pair = Pair::start(environment, bus, name).await?;
    let random = Random::new(environment.seed);
    let one = Readers::start(vec![pair.one.clone()]).await?;
    let other = Readers::start(vec![pair.other.clone()]).await?;
    let duration = BEFORE + fault.duration(bus);
    let load = pair.start_chats(name, random.clone(), duration).await?;
    sleep(BEFORE).await;
    fault.inject(environment, bus, &pair).await?;
    check_effect(fault, bus, &pair, &mut report).await?;
    let healed = Instant::now();
    pair.set_bus(Link::Open);
    pair.set_store(Link::Open);
    pair.wait_for_reply(name).await?;
    let (seconds, most) = (healed.elapsed().as_secs_f64(), STORE_DELAY.as_secs_f64());
    report.add_bounded("reply of the node after", seconds, "s", most);
    pair.wait_for_bus(true).await?;
    let seconds = healed.elapsed().as_secs_f64();
    report.add_figure("signals arrive again after", seconds, "s");
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

/// Checks that the fault had its effect on the bus.
async fn check_effect(fault: BusFault, bus: Bus, pair: &Pair, report: &mut Report) -> Result<()> {
    if let Some(has) = fault.leaves_bus()
        && pair.has_bus().await? != has
    {
        report.record_loss("fault without effect", || {
            format!("bus_connected is {}", !has)
        });
    }
    let cut = if (fault, bus) == (BusFault::Restarted, Bus::Redis) {
        pair.closed_by_bus()
    } else {
        pair.cut()
    };
    if cut == 0 {
        report.record_loss("fault without effect", || {
            "no connection was cut".to_owned()
        });
    }
    Ok(())
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
