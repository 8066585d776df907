//! Turns: what runs them, and what finds those that nobody runs.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use application::{
    Engines, Toolbox,
    cache::Caches,
    chat::{ChatPorts, TurnRunner},
    node::Node,
    recovery::{OwnTurns, Sweeper},
};
use tokio::time::Instant;

use super::Parts;

/// How often it is looked whether turns still run when the process ends.
const LOOK: Duration = Duration::from_millis(50);
/// How long the ends of turns that were interrupted may take to be stored.
const LAST_ENDS: Duration = Duration::from_secs(1);

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
        chat: &ChatPorts,
        engines: &Arc<Engines>,
        toolbox: &Arc<Toolbox>,
        node: &Arc<Node>,
        caches: &Caches,
    ) -> Result<Self> {
        let (storage, tasks, stop) = (&parts.storage, &parts.tasks, &parts.stop);
        let runner = Arc::new(TurnRunner::new(
            chat.clone(),
            Arc::clone(&storage.agents),
            Arc::clone(engines),
            Arc::clone(toolbox),
            Arc::clone(node),
            Arc::clone(&caches.live),
            tasks.clone(),
        ));
        let own = Arc::new(OwnTurns::new(
            Arc::clone(&storage.recovery),
            Arc::clone(&chat.turns),
            Arc::clone(&runner),
            Arc::clone(node),
            Arc::clone(&caches.applied),
            Arc::clone(&chat.clock),
        ));
        let sweeper = Sweeper::new(
            Arc::clone(&storage.recovery),
            Arc::clone(&runner),
            Arc::clone(node),
            Arc::clone(&caches.applied),
            Arc::clone(&chat.clock),
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
        self.until_rest(deadline).await;
        self.runner.close();
        // What was about to begin has begun by then, or waits.
        self.until_rest(Instant::now() + LAST_ENDS).await;
        self.own.give_up_queued().await;
        self.runner.live().let_go();
    }

    /// Waits until no turn is under way here.
    async fn until_rest(&self, deadline: Instant) {
        while self.runner.live().under_way() > 0 && Instant::now() < deadline {
            tokio::time::sleep(LOOK).await;
        }
    }
}
