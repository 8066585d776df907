//! The cancellation of a turn by the node that runs it, which has its text.

use std::{sync::Arc, time::Duration};

use domain::{PrincipalId, TenantId, TurnId};
use futures::StreamExt as _;
use ports::{EventBus, Signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::cancellation::Cancellation;
use crate::{
    chat::{ChatContext, TurnRunner},
    live_turns::{LiveTurn, TurnWaiter},
};

/// The time that another node has to cancel a turn.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Requests the cancellation of a turn from the node that runs it. Returns whether the turn has
/// ended.
pub(super) async fn cancel_remotely(
    context: &ChatContext,
    bus: &Arc<dyn EventBus>,
    live: &Arc<LiveTurn>,
    actor: &PrincipalId,
) -> bool {
    let subject = live.subject();
    let mut waiter = TurnWaiter::new(Arc::clone(live), Arc::clone(&context.ports.turns));
    bus.publish(Signal::CancellationRequested {
        tenant: subject.tenant.clone(),
        turn_id: subject.turn_id,
        actor: actor.clone(),
    });
    let ended = async {
        while !live.has_ended() {
            if waiter.changed().await.is_err() {
                return false;
            }
        }
        true
    };
    timeout(TIMEOUT, ended).await.unwrap_or(false)
}

/// Cancels turns that run here when other nodes request it.
pub struct CancellationListener {
    context: Arc<ChatContext>,
    runner: Arc<TurnRunner>,
    bus: Arc<dyn EventBus>,
}

impl CancellationListener {
    /// Creates a listener for the turns that `runner` runs.
    pub fn new(context: Arc<ChatContext>, runner: Arc<TurnRunner>, bus: Arc<dyn EventBus>) -> Self {
        Self {
            context,
            runner,
            bus,
        }
    }

    /// Cancels turns until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let is_request = |signal: &Signal| matches!(signal, Signal::CancellationRequested { .. });
        let mut requests = self.bus.subscribe(Box::new(is_request));
        while let Some(Some(request)) = stop.run_until_cancelled(requests.next()).await {
            if let Signal::CancellationRequested {
                tenant,
                turn_id,
                actor,
            } = request
            {
                self.cancel(&tenant, turn_id, &actor);
            }
        }
    }

    fn cancel(&self, tenant: &TenantId, turn: TurnId, actor: &PrincipalId) {
        let Some(live) = self.context.live.get(turn).filter(|live| {
            let subject = live.subject();
            let runs_here = live.local_node().is_some() && !live.has_ended();
            runs_here && subject.tenant == *tenant && !subject.is_ephemeral
        }) else {
            return;
        };
        let reply_id = live
            .progress()
            .started
            .as_ref()
            .and_then(|started| started.reply_id);
        let cancellation = Cancellation::new(&self.context, &self.runner, live, reply_id, actor);
        // The requesting node reads the outcome from the store.
        self.context.background.spawn(async move {
            if let Err(error) = cancellation.run().await {
                let error = ports::error::one_line(&error);
                tracing::warn!(error, %turn, "cannot cancel a turn for another node");
            }
        });
    }
}
