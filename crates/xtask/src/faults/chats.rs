//! Chats of all sorts, as they come in real life, only faster.

use std::{ops::Range, time::Duration};

use anyhow::Result;
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    chance::Chance,
    chat::{Chat, Form, Pace, Speaker},
    ground::{Cast, rooms},
    told::{Deadline, Nodes, Told},
};
use crate::rig::load::Endpoint;

/// Between two chats unless told otherwise: 200 come in a second.
const BETWEEN: Duration = Duration::from_millis(5);
/// How long a client goes on asking.
pub(super) const PERSISTENCE: Duration = Duration::from_secs(40);
/// Conversations with each agent: few enough that turns wait behind one another.
const ROOMS: usize = 25;

/// Makes chats, one after the other.
pub(super) struct Chats {
    cast: Cast,
    rooms_of_rules: Vec<String>,
    rooms_of_scripted: Vec<String>,
    name: String,
    number: usize,
    chance: Chance,
    /// How long a script takes, in milliseconds.
    pub(super) script: Range<u64>,
    /// Between two chats.
    pub(super) between: Duration,
}

impl Chats {
    /// Prepares conversations; `name` is part of each tag.
    pub(super) async fn prepare(
        endpoint: &Endpoint,
        cast: &Cast,
        name: String,
        chance: Chance,
    ) -> Result<Self> {
        Ok(Self {
            rooms_of_rules: rooms(endpoint, &cast.rules, ROOMS).await?,
            rooms_of_scripted: rooms(endpoint, &cast.scripted, ROOMS).await?,
            cast: cast.clone(),
            name,
            number: 0,
            chance,
            script: 50..300,
            between: BETWEEN,
        })
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Chat {
        self.number += 1;
        let chance = &mut self.chance;
        let tag = format!("{}-{:06}", self.name, self.number);
        let (speaker, rooms) = if chance.number(0..5) < 2 {
            // Four deltas, so three pauses between.
            let part = chance.milliseconds(self.script.clone()) / 4;
            let pace = Pace {
                first: part,
                between: part,
                more: 1,
            };
            let speaker = Speaker::Scripted(self.cast.scripted.clone(), pace);
            (speaker, &self.rooms_of_scripted)
        } else {
            let speaker = Speaker::Rules(self.cast.rules.clone());
            (speaker, &self.rooms_of_rules)
        };
        let is_new = chance.is_one_in(6);
        Chat {
            speaker,
            conversation: (!is_new).then(|| chance.pick(rooms).clone()),
            key: self.number.is_multiple_of(2).then(|| format!("key-{tag}")),
            form: *chance.pick(&[Form::Whole, Form::Whole, Form::Turn, Form::Stream]),
            tag,
        }
    }

    /// Has chats asked for so long, each by a client of its own.
    pub(super) async fn go_on(
        &mut self,
        nodes: &Nodes,
        duration: Duration,
        asking: &mut JoinSet<Told>,
    ) {
        let end = Instant::now() + duration;
        let mut ticks = interval(self.between);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        while Instant::now() < end {
            ticks.tick().await;
            let told = Told::nothing(self.next());
            let deadline = Deadline {
                number: self.number,
                at: Instant::now() + PERSISTENCE,
            };
            asking.spawn(told.ask_until_replied(nodes.clone(), deadline));
        }
    }
}
