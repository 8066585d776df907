//! The task that sends the replies of turns that run here to the nodes that have readers of them.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use ports::Signal;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{REQUEST_INTERVAL, forwarded_replies::ForwardedReplies};
use crate::{background::round, live_turns::LiveTurns};

/// The pause after new parts were sent, so that pieces which arrive meanwhile are sent together.
const PAUSE: Duration = Duration::from_millis(2);

/// Sends the replies of turns that run here to the nodes that have readers of them.
pub struct ReplyForwarder {
    live: Arc<LiveTurns>,
    replies: Arc<ForwardedReplies>,
}

impl ReplyForwarder {
    /// Creates a forwarder of the turns in `live`.
    pub fn new(live: Arc<LiveTurns>, replies: Arc<ForwardedReplies>) -> Self {
        Self { live, replies }
    }

    /// Forwards replies until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let forwarding = async { while round(self.forward()).await.is_none() {} };
        stop.run_until_cancelled(forwarding).await;
    }

    async fn forward(&self) {
        let Self { live, replies } = self;
        let node = replies.node().watch();
        let mut requests = replies.bus().subscribe(Box::new(move |signal| {
            matches!(signal, Signal::RepliesRequested { node: from, .. } if *from != *node.borrow())
        }));
        let mut ticks = interval(REQUEST_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let restart_due = replies.restart_due();
            tokio::select! {
                request = requests.next() => match request {
                    Some(request) => self.accept(request),
                    None => return,
                },
                started = live.starts.next() => replies.add_started(&started),
                () = replies.changed() => {
                    replies.send_new_parts();
                    sleep(PAUSE).await;
                }
                () = sleep_until(restart_due.unwrap_or_else(Instant::now)), if restart_due.is_some() => {
                    replies.send_new_parts();
                }
                _ = ticks.tick() => replies.expire(live),
            }
        }
    }

    fn accept(&self, request: Signal) {
        let Signal::RepliesRequested {
            tenant,
            conversations,
            from_start,
            ..
        } = request
        else {
            return;
        };
        let all_of_tenant = vec![None];
        let conversations = conversations.map_or(all_of_tenant, |conversations| {
            conversations.into_iter().map(Some).collect()
        });
        self.replies
            .add_requests(&self.live, &tenant, &conversations, from_start);
    }
}
