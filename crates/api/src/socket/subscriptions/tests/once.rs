//! Each channel is sent every event once and in order, whatever happens in which order.

use std::collections::HashMap;

use proptest::{collection::vec, prelude::*};
use tokio::runtime::Builder;

use super::{
    super::*,
    log::{agent, update_of},
    world::{Sent, World},
};

/// Something that happens on a socket.
#[derive(Debug, Clone)]
enum Step {
    /// The log grows by changes of these agents.
    Append(Vec<u8>),
    /// The socket sends so much of what is new.
    Live(usize),
    /// It sends so much of the past.
    Past(usize),
    /// A page of the past is asked for.
    Ask,
    /// It comes.
    Answer,
    /// The client follows a channel: from now on, or from so far back.
    Open(u8, Option<i64>),
    /// It is about to: this is the position that it will follow from.
    Look,
    /// It follows a channel from that position on.
    OpenLate(u8),
    /// What may be seen changes, to the same.
    DropPages,
    /// It follows it no longer.
    Close(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => vec(0..3_u8, 1..20).prop_map(Step::Append),
        3 => prop_oneof![0..10_usize, Just(usize::MAX)].prop_map(Step::Live),
        3 => (0..10_usize).prop_map(Step::Past),
        3 => Just(Step::Ask),
        3 => Just(Step::Answer),
        2 => (0..4_u8, proptest::option::of(0..80_i64)).prop_map(|(it, back)| Step::Open(it, back)),
        1 => Just(Step::Look),
        2 => (0..4_u8).prop_map(Step::OpenLate),
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

/// What a client has made of what it was sent.
#[derive(Default)]
struct Client {
    /// From where on it follows each channel, and what it was sent since.
    follows: HashMap<Channel, (i64, Vec<i64>)>,
    /// The last that each channel was sent before it was followed no longer.
    last: HashMap<Channel, i64>,
}

impl Client {
    fn hear(&mut self, sent: Vec<Sent>) {
        for it in sent {
            match it {
                Sent::Event(channels, seq) => {
                    for channel in channels {
                        let follows = self.follows.get_mut(&channel);
                        let (_, sent) = follows.unwrap_or_else(|| panic!("{channel} at {seq}"));
                        sent.push(seq);
                    }
                }
                Sent::CaughtUp(channel, _) => assert!(self.follows.contains_key(&channel)),
                other => panic!("{other:?}"),
            }
        }
    }

    /// It has followed a channel without a cursor.
    fn open(&mut self, channel: Channel, opening: Opening) {
        let last = self.last.get(&channel).copied().unwrap_or_default();
        assert!(opening.head.0 >= last, "{channel} is sent {last} again");
        self.follows
            .entry(channel)
            .or_insert_with(|| (opening.head.0, Vec::new()));
    }

    fn close(&mut self, channel: Channel) {
        let sent = self.follows.remove(&channel);
        if let Some(last) = sent.and_then(|(_, sent)| sent.last().copied()) {
            self.last.insert(channel, last);
        }
    }

    /// Fails unless every channel was sent all of these that are its own, once and in order.
    fn assert_has_all_of(self, agents: &[u8]) {
        for (channel, (from, sent)) in self.follows {
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
    let mut world = World::after(before.into_iter().map(update_of)).await;
    let mut client = Client::default();
    let mut asked = None;
    let mut looked = world.head();
    for step in steps {
        match step {
            Step::Append(more) => {
                agents.extend(&more);
                world.append(more.into_iter().map(update_of)).await;
            }
            Step::Live(room) => world.send_live(room),
            Step::Past(room) => world.send_replayed(room),
            Step::DropPages => world.subscriptions.drop_pages(),
            Step::Ask => {
                if asked.is_none()
                    && let Some(request) = world.subscriptions.next_request()
                {
                    let page = world.page(&request).await;
                    asked = Some((request, page));
                }
            }
            Step::Answer => {
                if let Some((request, page)) = asked.take() {
                    world.take_in(request, page);
                }
            }
            Step::Open(number, None) => {
                let opening = world.open(channel(number), None);
                client.open(channel(number), opening);
            }
            Step::Open(number, Some(back)) => {
                let since = (world.head().0 - back).max(0);
                world.open(channel(number), Some(since));
                client.last.remove(&channel(number));
                client.follows.insert(channel(number), (since, Vec::new()));
            }
            Step::Look => looked = world.head(),
            Step::OpenLate(number) => {
                let opening = world.open_at(channel(number), None, looked);
                client.open(channel(number), opening);
            }
            Step::Close(number) => {
                world.subscriptions.close(channel(number));
                client.close(channel(number));
            }
        }
        client.hear(world.received());
    }
    if let Some((request, page)) = asked {
        world.take_in(request, page);
    }
    world.settle().await;
    client.hear(world.received());
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
