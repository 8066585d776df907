//! Each channel is told every event once and in order, whatever happens in which order.

use std::collections::HashMap;

use proptest::{collection::vec, prelude::*};
use tokio::runtime::Builder;

use super::{
    super::*,
    log::{Told, World, agent, update_of},
};

/// Something that happens on a socket.
#[derive(Debug, Clone)]
enum Step {
    /// The log grows by changes of these agents.
    Append(Vec<u8>),
    /// The socket tells what is new.
    News,
    /// It tells so much of the past.
    Past(usize),
    /// A page of the past is asked for.
    Ask,
    /// It comes.
    Answer,
    /// The client follows a channel: from now on, or from so far back.
    Open(u8, Option<i64>),
    /// It follows it no longer.
    Close(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => vec(0..3_u8, 1..20).prop_map(Step::Append),
        3 => Just(Step::News),
        3 => (0..10_usize).prop_map(Step::Past),
        3 => Just(Step::Ask),
        3 => Just(Step::Answer),
        2 => (0..4_u8, proptest::option::of(0..80_i64)).prop_map(|(it, back)| Step::Open(it, back)),
        1 => (0..4_u8).prop_map(Step::Close),
    ]
}

fn channel(number: u8) -> Channel {
    match number {
        3 => Channel::Tenant,
        number => Channel::Agent(agent(number)),
    }
}

/// What a client has made of what it was told.
#[derive(Default)]
struct Client {
    /// From where on it follows each channel, and what it was told since.
    follows: HashMap<Channel, (i64, Vec<i64>)>,
}

impl Client {
    fn hear(&mut self, told: Vec<Told>) {
        for it in told {
            match it {
                Told::Event(channels, seq) => {
                    for channel in channels {
                        let follows = self.follows.get_mut(&channel);
                        let (_, told) = follows.unwrap_or_else(|| panic!("{channel} at {seq}"));
                        told.push(seq);
                    }
                }
                Told::CaughtUp(channel, _) => assert!(self.follows.contains_key(&channel)),
                other => panic!("{other:?}"),
            }
        }
    }
}

async fn run(before: Vec<u8>, steps: Vec<Step>) {
    let mut agents = before.clone();
    let mut world = World::after(before.into_iter().map(update_of)).await;
    let mut client = Client::default();
    let mut asked = None;
    for step in steps {
        match step {
            Step::Append(more) => {
                agents.extend(&more);
                world.append(more.into_iter().map(update_of)).await;
            }
            Step::News => world.tell_news(),
            Step::Past(room) => world.tell_past(room),
            Step::Ask => {
                if asked.is_none()
                    && let Some(wanted) = world.subscriptions.next_wanted()
                {
                    let page = world.page(&wanted).await;
                    asked = Some((wanted, page));
                }
            }
            Step::Answer => {
                if let Some((wanted, page)) = asked.take() {
                    world.take_in(wanted, page);
                }
            }
            Step::Open(number, back) => {
                let head = world.head().0;
                let since = back.map(|back| (head - back).max(0));
                world.open(channel(number), since);
                let from = since.unwrap_or(head);
                client.follows.insert(channel(number), (from, Vec::new()));
            }
            Step::Close(number) => {
                world.subscriptions.close(channel(number));
                client.follows.remove(&channel(number));
            }
        }
        client.hear(world.heard());
    }
    if let Some((wanted, page)) = asked {
        world.take_in(wanted, page);
    }
    world.settle().await;
    client.hear(world.heard());
    for (channel, (from, told)) in client.follows {
        let numbered = (1..).zip(&agents).filter(|(seq, _)| *seq > from);
        let expected: Vec<i64> = numbered
            .filter(|(_, it)| channel == Channel::Tenant || channel == Channel::Agent(agent(**it)))
            .map(|(seq, _)| seq)
            .collect();
        assert_eq!(told, expected, "{channel} from {from}");
    }
}

proptest! {
    #[test]
    fn every_channel_is_told_every_event_once_and_in_order(
        before in vec(0..3_u8, 0..150),
        steps in vec(step(), 0..60),
    ) {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(run(before, steps));
    }
}
