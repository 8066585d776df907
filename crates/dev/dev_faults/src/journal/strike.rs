//! The fault that the process of a turn suffers at a boundary.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dev_load::http::Method;
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    away::LockedFile,
    boundary::Boundary,
    client::{Client, OrderTurn},
    lab::Lab,
    record::{Point, Tool},
    store_gate::Side,
};
use crate::{random::Random, report::Report};

/// The longest until a turn reaches a boundary, also after its process has died.
pub(super) const REACHED: Duration = Duration::from_secs(45);
/// The time in which the end of a call is certainly stored.
pub(super) const STORED: Duration = Duration::from_secs(2);
/// The longest until a write happens that is about to.
const WRITTEN: Duration = Duration::from_millis(500);
/// The longest random pause before a kill, in microseconds.
const MAX_PAUSE: u64 = 25_000;

/// Turns that have reached a boundary.
pub(super) struct Strike<'a> {
    pub(super) lab: &'a mut Lab,
    pub(super) boundary: Boundary,
    pub(super) victim: usize,
    pub(super) turns: &'a [OrderTurn],
    pub(super) random: &'a mut Random,
    pub(super) report: &'a mut Report,
}

impl Strike<'_> {
    /// Makes it happen. Returns the time of the last fault.
    pub(super) async fn run(mut self) -> Result<Instant> {
        match self.boundary {
            Boundary::StoreAway => self.store_away().await,
            Boundary::Paused => self.pause().await,
            Boundary::Answered => self.answer().await,
            Boundary::KilledTwice => self.kill_twice().await,
            Boundary::EndStored => {
                sleep(STORED + Duration::from_millis(200)).await;
                self.kill()
            }
            boundary if boundary.write().is_some() => {
                let armed = self.arm();
                self.lab.doubles.record.release(self.random.number(0..20));
                self.wait_and_kill(armed).await
            }
            _ => self.kill(),
        }
    }

    fn kill(&mut self) -> Result<Instant> {
        let at = Instant::now();
        self.lab.kill(self.victim)?;
        self.lab.doubles.record.release(0);
        Ok(at)
    }

    /// Has the relay stop at a side of the write of the boundary, in two of three cases on Postgres.
    fn arm(&mut self) -> Option<Side> {
        let sides = [Some(Side::Before), Some(Side::After), None];
        let side = *self.random.pick(&sides);
        let gate = self.lab.gate(self.victim);
        let (Some(gate), Some(side), Some((write, most))) = (gate, side, self.boundary.write())
        else {
            return None;
        };
        let passing = self.random.number(0..u64::from(most));
        gate.arm(write, side, u32::try_from(passing).unwrap_or(0));
        Some(side)
    }

    /// Kills the node where the relay has stopped, or after a random pause.
    async fn wait_and_kill(&mut self, armed: Option<Side>) -> Result<Instant> {
        let gate = self.lab.gate(self.victim);
        let stopped = if let Some((gate, side)) = gate.zip(armed) {
            gate.wait(WRITTEN).await.then_some(side)
        } else {
            sleep(Duration::from_micros(self.random.number(0..MAX_PAUSE))).await;
            None
        };
        let place = match stopped {
            Some(Side::Before) => "before a write",
            Some(Side::After) => "after a write",
            None => "around a write",
        };
        self.report.count(place, 1);
        self.kill()
    }

    /// Approves all calls that wait, and kills the node meanwhile or in the calls.
    async fn answer(&mut self) -> Result<Instant> {
        let client = self.client();
        for turn in self.turns {
            let path = format!("/api/turns/{}", turn.turn);
            while client.get(&path).await["status"] != "requires_action" {
                ensure!(Instant::now() < client.until, "no question: {turn:?}");
                sleep(Duration::from_millis(20)).await;
            }
        }
        let armed = self.arm();
        let mut answers = JoinSet::new();
        for turn in self.turns {
            answers.spawn(approve(self.client(), turn.clone()));
        }
        let record = &self.lab.doubles.record;
        if armed.is_none() && self.random.is_one_in(2) {
            // Some of the turns hold in the call.
            for turn in self.turns {
                record.wait(&turn.order, 1, WRITTEN).await;
            }
        }
        let at = self.wait_and_kill(armed).await?;
        // The clients repeat their answers on the nodes that run.
        answers.join_all().await;
        Ok(at)
    }

    fn client(&self) -> Client {
        Client {
            nodes: self.lab.nodes.clone(),
            until: Instant::now() + REACHED,
        }
    }

    /// Kills the node, and the one that goes on with the turns once they hold again.
    async fn kill_twice(&mut self) -> Result<Instant> {
        self.lab.stop(self.victim);
        let points: Vec<_> = {
            let calls = Tool::ALL.map(Point::Call).into_iter();
            calls.chain((0..=3).map(Point::Model)).collect()
        };
        for turn in self.turns {
            let record = &self.lab.doubles.record;
            record.hold(&turn.order, points.clone());
        }
        self.lab.replace(self.victim)?;
        let heir = self.lab.heir(self.victim);
        self.lab.start_again(self.victim)?;
        for turn in self.turns {
            let is_held = self.lab.doubles.record.wait(&turn.order, 1, REACHED).await;
            ensure!(is_held, "not resumed after the first kill: {turn:?}");
        }
        self.victim = heir;
        self.kill()
    }

    /// Cuts the node off from its store while calls end; in some rounds it dies meanwhile.
    async fn store_away(&mut self) -> Result<Instant> {
        let dies = self.random.is_one_in(3);
        let (lock, away) = if let Some(gate) = self.lab.gate(self.victim) {
            gate.close();
            (None, self.random.milliseconds(1_000..14_000))
        } else {
            let file = self.lab.file.as_deref().context("no file")?;
            let away = self.random.milliseconds(1_000..8_000);
            (Some(LockedFile::lock(file)?), away)
        };
        self.lab.doubles.record.release(20);
        sleep(away).await;
        let at = Instant::now();
        if dies {
            self.lab.stop(self.victim);
            drop(lock);
            self.lab.replace(self.victim)?;
            return Ok(at);
        }
        drop(lock);
        if let Some(gate) = self.lab.gate(self.victim) {
            gate.open();
        }
        Ok(at)
    }

    /// Suspends the node for about as long as its lease, while models and tools answer.
    async fn pause(&mut self) -> Result<Instant> {
        self.lab.pause(self.victim)?;
        self.lab.doubles.record.release(0);
        sleep(self.random.milliseconds(9_000..16_000)).await;
        self.lab.wake(self.victim)?;
        Ok(Instant::now())
    }
}

/// Approves the calls of a turn until the answer is final.
async fn approve(client: Client, turn: OrderTurn) {
    let path = format!("/api/turns/{}", turn.turn);
    let found = client.get(&path).await;
    let waiting = found["toolCalls"].as_array().into_iter().flatten();
    let waiting = waiting.filter(|call| call["status"] == "waiting");
    let answers: Vec<_> = waiting
        .map(|call| json!({ "callId": call["id"], "decision": "approve" }))
        .collect();
    let (path, body) = (format!("{path}/actions"), json!({ "actions": answers }));
    client.call(Method::POST, &path, Some(&body), None).await;
}
