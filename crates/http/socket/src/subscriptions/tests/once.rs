//! Each channel receives every event once and in order, in any sequence of operations.

use std::collections::HashMap;

use proptest::{collection::vec, prelude::*};
use tokio::runtime::Builder;

use super::{
    super::*,
    fixture::{Fixture, Sent},
    log::{agent, update_of},
};

/// An operation on a socket.
#[derive(Debug, Clone)]
enum Step {
    /// The log grows by updates of these agents.
    Append(Vec<u8>),
    /// The socket sends so many new events.
    Live(usize),
    /// The socket sends so many past events.
    Replay(usize),
    /// A page is requested.
    RequestPage,
    /// The page arrives.
    ReceivePage,
    /// The client subscribes to a channel: from now on, or from so many positions back.
    Open(u8, Option<i64>),
    /// A subscribe command starts, and remembers the head of the log.
    SeeHead,
    /// The command subscribes to a channel from the remembered head.
    OpenAtSeenHead(u8),
    /// The credential changes, with the same rights.
    DropPages,
    /// The client unsubscribes from a channel.
    Close(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => vec(0..3_u8, 1..20).prop_map(Step::Append),
        3 => prop_oneof![0..10_usize, Just(usize::MAX)].prop_map(Step::Live),
        3 => (0..10_usize).prop_map(Step::Replay),
        3 => Just(Step::RequestPage),
        3 => Just(Step::ReceivePage),
        2 => (0..4_u8, proptest::option::of(0..80_i64)).prop_map(|(it, back)| Step::Open(it, back)),
        1 => Just(Step::SeeHead),
        2 => (0..4_u8).prop_map(Step::OpenAtSeenHead),
        1 => Just(Step::DropPages),
        1 => (0..4_u8).prop_map(Step::Close),
    ]
}

fn channel(number: u8) -> Channel {
    match number {
        3 => Channel::Tenant,
        number => Channel::Agent(agent(number)),
    }
}

/// The client's view of its subscriptions.
#[derive(Default)]
struct Client {
    /// The start position of each channel, and the events since.
    followed: HashMap<Channel, (i64, Vec<i64>)>,
    /// The last event of each channel before it was closed.
    last: HashMap<Channel, i64>,
}

impl Client {
    fn receive(&mut self, sent: Vec<Sent>) {
        for it in sent {
            match it {
                Sent::Event(channels, seq) => {
                    for channel in channels {
                        let followed = self.followed.get_mut(&channel);
                        let (_, sent) = followed.unwrap_or_else(|| panic!("{channel} at {seq}"));
                        sent.push(seq);
                    }
                }
                Sent::CaughtUp(channel, _) => assert!(self.followed.contains_key(&channel)),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Records a subscription without a cursor.
    fn open(&mut self, channel: Channel, opening: SubscriptionStart) {
        let last = self.last.get(&channel).copied().unwrap_or_default();
        assert!(opening.head.0 >= last, "{channel} is sent {last} again");
        self.followed
            .entry(channel)
            .or_insert_with(|| (opening.head.0, Vec::new()));
    }

    fn close(&mut self, channel: Channel) {
        let sent = self.followed.remove(&channel);
        if let Some(last) = sent.and_then(|(_, sent)| sent.last().copied()) {
            self.last.insert(channel, last);
        }
    }

    /// Asserts that every channel received all its events, once and in order.
    fn assert_has_all_of(self, agents: &[u8]) {
        for (channel, (from, sent)) in self.followed {
            let numbered = (1..).zip(agents).filter(|(seq, _)| *seq > from);
            let expected: Vec<i64> = numbered
                .filter(|(_, it)| {
                    channel == Channel::Tenant || channel == Channel::Agent(agent(**it))
                })
                .map(|(seq, _)| seq)
                .collect();
            assert_eq!(sent, expected, "{channel} from {from}");
        }
    }
}

async fn run(before: Vec<u8>, steps: Vec<Step>) {
    let mut agents = before.clone();
    let mut fixture = Fixture::after(before.into_iter().map(update_of)).await;
    let mut client = Client::default();
    let mut pending = None;
    let mut head_seen = fixture.head();
    for step in steps {
        match step {
            Step::Append(more) => {
                agents.extend(&more);
                fixture.append(more.into_iter().map(update_of)).await;
            }
            Step::Live(room) => fixture.send_live(room),
            Step::Replay(room) => fixture.send_replayed(room),
            Step::DropPages => fixture.subscriptions.drop_pages(),
            Step::RequestPage => {
                if pending.is_none()
                    && let Some(request) = fixture.subscriptions.next_request()
                {
                    let page = fixture.page(&request).await;
                    pending = Some((request, page));
                }
            }
            Step::ReceivePage => {
                if let Some((request, page)) = pending.take() {
                    fixture.accept_page(request, page);
                }
            }
            Step::Open(number, None) => {
                let opening = fixture.open(channel(number), None);
                client.open(channel(number), opening);
            }
            Step::Open(number, Some(back)) => {
                let since = (fixture.head().0 - back).max(0);
                fixture.open(channel(number), Some(since));
                client.last.remove(&channel(number));
                client.followed.insert(channel(number), (since, Vec::new()));
            }
            Step::SeeHead => head_seen = fixture.head(),
            Step::OpenAtSeenHead(number) => {
                let opening = fixture.open_at(channel(number), None, head_seen);
                client.open(channel(number), opening);
            }
            Step::Close(number) => {
                fixture.subscriptions.close(channel(number));
                client.close(channel(number));
            }
        }
        client.receive(fixture.received());
    }
    if let Some((request, page)) = pending {
        fixture.accept_page(request, page);
    }
    fixture.send_all().await;
    client.receive(fixture.received());
    client.assert_has_all_of(&agents);
}

proptest! {
    #[test]
    fn every_channel_is_sent_every_event_once_and_in_order(
        before in vec(0..3_u8, 0..150),
        steps in vec(step(), 0..60),
    ) {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(run(before, steps));
    }
}
