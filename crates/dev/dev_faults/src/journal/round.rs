//! One fault at a boundary that several turns have reached.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dev_load::http::{Method, send};
use serde_json::Value;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    boundary::Boundary,
    client::{Behaviour, Client, OrderTurn},
    judge::{Finished, Judgement},
    lab::{Approver, Lab},
    prompt::ORDER,
    record::Seen,
    strike::{REACHED, Strike},
};
use crate::{random::Random, report::Report};

/// The number of turns that a fault meets.
const TURNS: usize = 4;
/// The longest from a fault to the end of a turn: a lease and its sweep, and the start of a node that must
/// first be sure of its own lease.
const FINAL: Duration = Duration::from_secs(30);
/// The longest that clients go on.
const CLIENTS: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);

/// A round.
pub(super) struct Round<'a> {
    pub(super) lab: &'a mut Lab,
    pub(super) boundary: Boundary,
    pub(super) number: usize,
    pub(super) random: &'a mut Random,
    pub(super) report: &'a mut Report,
}

impl Round<'_> {
    /// Starts turns, lets it happen to them, and judges. Returns the seconds until the last turn was final.
    pub(super) async fn run(mut self) -> Result<f64> {
        self.lab.restore().await?;
        let victim = self.lab.victim(self.number);
        let turns = self.start_turns(victim).await?;
        let strike = Strike {
            lab: self.lab,
            boundary: self.boundary,
            victim,
            turns: &turns,
            random: self.random,
            report: self.report,
        };
        let struck = strike.run().await?;
        self.report.count("runs", 1);
        self.report.count("turns", turns.len());
        let mut clients = JoinSet::new();
        for turn in turns {
            clients.spawn(follow(self.client(struck + CLIENTS), turn));
        }
        let mut slowest = Duration::ZERO;
        for (turn, conversations, repeated, ended) in clients.join_all().await {
            let seen = self.lab.doubles.record.seen(&turn.order);
            slowest = slowest.max(ended.map_or(FINAL, |ended| ended - struck));
            if ended.is_none() {
                let detail = format!("{turn:?} is not final after {FINAL:?}: {seen:?}");
                self.report.record_loss("unfinished", || detail);
            }
            self.count(&turn, &seen, struck);
            let finished = Finished {
                turn,
                conversations,
                repeated,
                seen,
            };
            let client = self.client(Instant::now() + FINAL);
            let mut judgement = Judgement {
                boundary: self.boundary,
                struck,
                finished: &finished,
                report: self.report,
            };
            judgement.run(&client).await;
        }
        Ok(slowest.as_secs_f64())
    }

    fn client(&self, until: Instant) -> Client {
        Client {
            nodes: self.lab.nodes.clone(),
            until,
        }
    }

    /// Counts what the doubles have seen.
    fn count(&mut self, turn: &OrderTurn, seen: &Seen, struck: Instant) {
        let (before, after): (Vec<_>, Vec<_>) = seen
            .requests
            .iter()
            .partition(|request| request.at < struck);
        let last = before.last().map(|request| request.own_calls);
        let next = after.first().map(|request| request.own_calls);
        // Another turn begins after a cancellation.
        let is_again = last.is_some() && last == next && turn.behaviour != Behaviour::Cancel;
        self.report.count("asked again", usize::from(is_again));
        let again = seen.calls.iter().filter(|call| call.attempt > 1);
        self.report.count("calls", seen.calls.len());
        self.report.count("made again", again.count());
        let unknown = seen.requests.iter().map(|request| request.unknown).max();
        self.report
            .count("outcomes unknown", unknown.unwrap_or_default());
    }

    /// Starts turns on a node, and waits until they hold at the boundary.
    async fn start_turns(&mut self, victim: usize) -> Result<Vec<OrderTurn>> {
        let endpoint = self.lab.endpoint(victim)?;
        let record = &self.lab.doubles.record;
        let agent = match self.boundary {
            Boundary::Answered => self.lab.agent(Approver::User),
            _ => self.lab.free_agent(),
        };
        let (mut turns, mut reached) = (Vec::new(), Vec::new());
        for index in 0..TURNS {
            let chosen = self.number * TURNS + index;
            // One round needs calls that end at different times.
            let at_once = self.boundary == Boundary::EndStored || self.random.is_one_in(2);
            let order = format!("{ORDER}{}-{chosen}", self.boundary.slug());
            let holds = self.boundary.holds(self.number + index, at_once);
            if !holds.is_empty() && self.boundary != Boundary::Answered {
                reached.push((order.clone(), self.boundary.reached(at_once)));
            }
            record.hold(&order, holds);
            let mut turn = OrderTurn {
                order,
                agent: agent.to_owned(),
                at_once,
                behaviour: Behaviour::ALL[chosen % Behaviour::ALL.len()],
                turn: String::new(),
                conversation: String::new(),
            };
            let chat = endpoint.http(Method::POST, "/api/chat").json(&turn.chat());
            let chat = chat.header("Idempotency-Key", turn.key());
            let accepted = send(chat.header("Prefer", "respond-async"), REACHED).await?;
            ensure!(accepted.status == 202, "not accepted: {}", accepted.json());
            let text = |name: &str| accepted.json()[name].as_str().map(str::to_owned);
            turn.turn = text("id").context("no turn")?;
            turn.conversation = text("conversationId").context("no conversation")?;
            turns.push(turn);
        }
        for (order, points) in reached {
            let is_held = record.wait(&order, points, REACHED).await;
            ensure!(is_held, "{order} has not reached the boundary");
        }
        Ok(turns)
    }
}

/// Acts as the client of a turn. Returns with it its conversations, the response to its repeated chat,
/// and the time at which it was final, if that was in time.
async fn follow(
    client: Client,
    turn: OrderTurn,
) -> (
    OrderTurn,
    Vec<String>,
    Option<(u16, Value)>,
    Option<Instant>,
) {
    let final_by = Instant::now() + FINAL;
    let ((conversations, repeated), ended) = tokio::join!(
        client.act(&turn),
        wait_for_end(&client, &turn.turn, final_by),
    );
    (turn, conversations, repeated, ended)
}

/// Returns the time at which a turn was final or waiting.
async fn wait_for_end(client: &Client, turn: &str, until: Instant) -> Option<Instant> {
    let path = format!("/api/turns/{turn}");
    loop {
        let turn = client.get(&path).await;
        if !matches!(
            turn["status"].as_str(),
            Some("queued" | "in_progress") | None
        ) {
            return Some(Instant::now());
        }
        if Instant::now() >= until {
            return None;
        }
        sleep(PAUSE).await;
    }
}
