//! Turns: what runs them, and what finds those that nobody runs.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use application::{
    Engines,
    chat::{ChatPorts, LiveTurns, TurnRunner},
    node::Node,
    recovery::{OwnTurns, Sweeper},
};
use ports::EventBus;
use tokio::time::Instant;

use super::Parts;

/// How often it is looked whether turns still run when the process ends.
const LOOK: Duration = Duration::from_millis(50);

/// The turns of this process.
#[derive(Clone)]
pub struct Turns {
    /// Runs them.
    pub(super) runner: Arc<TurnRunner>,
    own: Arc<OwnTurns>,
}

impl Turns {
    /// Puts together what runs turns, and starts what finds those that nobody runs.
    pub(super) async fn wire(
        parts: &Parts<'_>,
        ports: &ChatPorts,
        engines: &Arc<Engines>,
        node: &Arc<Node>,
        live: &Arc<LiveTurns>,
        bus: &Arc<dyn EventBus>,
    ) -> Result<Self> {
        let (storage, tasks, stop) = (&parts.storage, &parts.tasks, &parts.stop);
        let runner = Arc::new(TurnRunner::new(
            ports.clone(),
            Arc::clone(&storage.agents),
            Arc::clone(engines),
            Arc::clone(node),
            Arc::clone(live),
            tasks.clone(),
        ));
        let own = Arc::new(OwnTurns::new(
            Arc::clone(&storage.recovery),
            Arc::clone(&ports.turns),
            Arc::clone(&runner),
            Arc::clone(node),
            Arc::clone(bus),
            Arc::clone(&ports.clock),
        ));
        let sweeper = Sweeper::new(
            Arc::clone(&storage.recovery),
            Arc::clone(&runner),
            Arc::clone(node),
            Arc::clone(bus),
            Arc::clone(&ports.clock),
        );
        if storage.recovery.is_of_one_process() {
            // Nobody else lives: what the process before left is brought in order without waiting.
            sweeper.pass().await?;
        }
        tasks.spawn(sweeper.run(stop.clone()));
        tasks.spawn(Arc::clone(&own).run(stop.clone()));
        Ok(Self { runner, own })
    }

    /// Lets running turns end by themselves until `deadline`, then interrupts them. Turns that
    /// wait are left to other processes, unless their callers wait here.
    pub async fn drain(&self, deadline: Instant) {
        self.runner.drain();
        let live = self.runner.live();
        while live.running() > 0 && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
        live.interrupt_all();
        self.own.give_up_queued().await;
    }
}
