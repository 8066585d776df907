use std::{collections::VecDeque, sync::Arc};

use domain::{ConversationId, NodeId, Seq, TurnId, TurnStatus};
use futures::{FutureExt as _, StreamExt as _, stream::BoxStream};
use ports::{EventBus, ReplyPart, Signal};
use single_node::LocalBus;
use tokio::{
    task::JoinHandle,
    time::{Duration, Instant, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;
use writes::Committed;

use super::{ForwardedReplies, ReplyForwarder, ReplyReceiver};
use crate::{
    cache::LogProgress,
    engines::ReplySink as _,
    live_turns::{
        LiveTurns, ReaderGuard,
        tests::fixture::{StoredTurn, subject},
    },
    node::tests::idle_node,
};

const OTHER_NODE: NodeId = NodeId::new(Uuid::from_u128(99));

/// A receiver with a reader of all conversations.
struct Receiving {
    bus: Arc<dyn EventBus>,
    live: Arc<LiveTurns>,
    turns: Arc<StoredTurn>,
    applied: Arc<LogProgress>,
    /// The requests of the receiver.
    requests: BoxStream<'static, Signal>,
    _reader: ReaderGuard,
    _task: JoinHandle<()>,
}

fn is_request(signal: &Signal) -> bool {
    matches!(signal, Signal::RepliesRequested { .. })
}

async fn receiving() -> Receiving {
    let bus: Arc<dyn EventBus> = Arc::new(LocalBus::new());
    let live = Arc::new(LiveTurns::default());
    let turns = StoredTurn::new(Some(TurnStatus::InProgress));
    let mut requests = bus.subscribe(Box::new(is_request));
    let reader = live.readers.follow(&subject().tenant, None, None);
    let applied = Arc::new(LogProgress::new(Arc::clone(&bus)));
    let receiver = ReplyReceiver::new(
        Arc::clone(&bus),
        Arc::clone(&live),
        turns.clone(),
        Arc::clone(&applied),
        idle_node().await,
    );
    let task = TaskTracker::new().spawn(receiver.run(CancellationToken::new()));
    // For the new reader, and the regular one.
    for _ in 0..2 {
        requests.next().await.expect("a request");
    }
    Receiving {
        bus,
        live,
        turns,
        applied,
        requests,
        _reader: reader,
        _task: task,
    }
}

impl Receiving {
    fn publish(&self, turn: TurnId, from: usize, text: &str) {
        self.bus.publish(Signal::ReplyPart {
            tenant: subject().tenant,
            conversation_id: subject().conversation_id,
            turn_id: turn,
            node: OTHER_NODE,
            resumptions: 0,
            part: ReplyPart::Text {
                from,
                text: text.to_owned(),
            },
        });
    }

    /// Waits until the reply has this text.
    async fn wait_for(&self, text: &str) {
        let has_text = || {
            let turn = self.live.get(subject().turn_id);
            turn.is_some_and(|turn| turn.progress().reply.text == text)
        };
        let arrived = async {
            while !has_text() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let arrived = timeout(Duration::from_secs(1), arrived).await;
        arrived.unwrap_or_else(|_| panic!("`{text}` does not arrive"));
    }

    /// Returns the number of requests from the start within a time.
    async fn requests_within(&mut self, time: Duration) -> usize {
        sleep(time).await;
        let requests = std::iter::from_fn(|| self.requests.next().now_or_never().flatten());
        let from_start = |it: &Signal| {
            matches!(
                it,
                Signal::RepliesRequested {
                    from_start: true,
                    ..
                }
            )
        };
        requests.filter(from_start).count()
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_read_delays_no_other_reply() {
    let receiving = receiving().await;
    receiving.publish(subject().turn_id, 0, "a");
    receiving.wait_for("a").await;
    receiving.turns.set_read_time(Duration::from_hours(1));
    receiving.publish(TurnId::new(Uuid::from_u128(77)), 0, "x");
    receiving.publish(subject().turn_id, 1, "b");
    receiving.wait_for("ab").await;
}

/// Otherwise the end of the turn would not be read from it.
#[tokio::test(start_paused = true)]
async fn the_log_of_a_received_reply_is_followed() {
    let receiving = receiving().await;
    receiving.publish(subject().turn_id, 0, "a");
    receiving.wait_for("a").await;
    let position = receiving.applied.position(&subject().tenant);
    assert_eq!(position, Some(Seq(1)));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_ends_while_it_is_read_is_over() {
    let receiving = receiving().await;
    let (first, last) = (Seq(1), Seq(5));
    let ahead = Committed { first, last };
    receiving.applied.record_write(&subject().tenant, ahead);
    receiving.turns.set_read_time(Duration::from_millis(100));
    receiving.publish(subject().turn_id, 0, "a");
    receiving.wait_for("a").await;
    receiving.turns.set(Some(TurnStatus::Completed));
    let is_over = || {
        let turn = receiving.live.get(subject().turn_id);
        turn.is_none_or(|turn| turn.is_over())
    };
    let over = async {
        while !is_over() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let over = timeout(Duration::from_secs(1), over).await;
    over.expect("the end is read from the store");
}

#[tokio::test(start_paused = true)]
async fn parts_that_arrive_during_the_read_of_their_turn_are_kept() {
    let mut receiving = receiving().await;
    receiving.turns.set_read_time(Duration::from_millis(100));
    receiving.publish(subject().turn_id, 0, "a");
    receiving.publish(subject().turn_id, 1, "b");
    receiving.wait_for("ab").await;
    assert_eq!(receiving.requests_within(Duration::ZERO).await, 0);
    assert_eq!(receiving.turns.reads(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_parts_that_arrive_during_the_read_of_their_turn_are_requested() {
    let mut receiving = receiving().await;
    receiving.turns.set_read_time(Duration::from_millis(100));
    for from in 0..20 {
        receiving.publish(subject().turn_id, from, "a");
    }
    receiving.wait_for(&"a".repeat(16)).await;
    assert_eq!(receiving.requests_within(Duration::ZERO).await, 1);
    assert_eq!(receiving.turns.reads(), 1);
    receiving.publish(subject().turn_id, 0, &"a".repeat(20));
    receiving.wait_for(&"a".repeat(20)).await;
}

#[tokio::test(start_paused = true)]
async fn repeated_losses_lead_to_few_requests() {
    let mut receiving = receiving().await;
    for _ in 0..50 {
        receiving.bus.publish(Signal::SignalsLost);
        sleep(Duration::from_millis(1)).await;
    }
    let requests = receiving.requests_within(Duration::from_secs(1)).await;
    assert_eq!(requests, 2, "one at once, and one after the last loss");
}

fn request(conversation: ConversationId, from_start: bool) -> Signal {
    Signal::RepliesRequested {
        tenant: subject().tenant,
        conversations: Some(vec![conversation]),
        node: OTHER_NODE,
        from_start,
    }
}

#[tokio::test(start_paused = true)]
async fn other_requests_do_not_delay_the_restart_of_a_reply() {
    let bus: Arc<dyn EventBus> = Arc::new(LocalBus::new());
    let live = Arc::new(LiveTurns::default());
    let node = idle_node().await;
    let turn = live.get_or_register(subject());
    turn.set_local_node(Some(node.id()));
    let mut parts = bus.subscribe(Box::new(|it| matches!(it, Signal::ReplyPart { .. })));
    let replies = Arc::new(ForwardedReplies::new(Arc::clone(&bus), node));
    let forwarder = ReplyForwarder::new(live, replies);
    TaskTracker::new().spawn(forwarder.run(CancellationToken::new()));
    sleep(Duration::from_millis(1)).await;
    let other = ConversationId::new(Uuid::from_u128(77));
    let started = Instant::now();
    let mut requests = VecDeque::from([
        request(other, true),
        request(subject().conversation_id, true),
        request(subject().conversation_id, true),
    ]);
    let (mut starts, mut restarted) = (0, None);
    while started.elapsed() < Duration::from_secs(1) {
        bus.publish(
            requests
                .pop_front()
                .unwrap_or_else(|| request(other, false)),
        );
        sleep(Duration::from_millis(50)).await;
        while parts.next().now_or_never().is_some() {
            starts += 1;
            restarted = Some(started.elapsed());
        }
    }
    assert_eq!(starts, 2);
    assert!(
        restarted < Some(Duration::from_millis(400)),
        "{restarted:?}"
    );
}

#[tokio::test]
async fn the_last_parts_are_sent_before_the_end_of_a_reply_is_stored() {
    let bus: Arc<dyn EventBus> = Arc::new(LocalBus::new());
    let live = Arc::new(LiveTurns::default());
    let node = idle_node().await;
    let replies = ForwardedReplies::new(Arc::clone(&bus), Arc::clone(&node));
    let mut parts = bus.subscribe(Box::new(|it| matches!(it, Signal::ReplyPart { .. })));
    let turn = live.get_or_register(subject());
    turn.set_local_node(Some(node.id()));
    replies.send_last_parts(&turn);
    assert!(parts.next().now_or_never().is_none(), "no node has asked");
    // No task forwards replies here, as if the turn ended before it ran.
    let conversation = Some(subject().conversation_id);
    replies.add_requests(&live, &subject().tenant, &[conversation], false);
    turn.with_reply(|reply| reply.push_text("Well."));
    replies.send_last_parts(&turn);
    let mut sent = String::new();
    while let Some(Some(Signal::ReplyPart { part, .. })) = parts.next().now_or_never() {
        let ReplyPart::Text { from, text } = part else {
            panic!("{part:?}");
        };
        assert_eq!(from, sent.len());
        sent.push_str(&text);
    }
    assert_eq!(sent, "Well.");
}
