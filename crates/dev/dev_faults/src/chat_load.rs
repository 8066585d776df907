//! A mix of chats: agents, conversations, keys and response modes are random.

use std::{ops::Range, time::Duration};

use anyhow::Result;
use dev_load::Endpoint;
use tokio::{
    task::JoinSet,
    time::{self, Instant, MissedTickBehavior},
};

use super::{
    acknowledgements::{Acknowledgements, Deadline, Nodes},
    chat::{Agent, Chat, Pacing, ResponseMode},
    environment::{Agents, create_conversations},
    random::Random,
};

/// The default interval: 200 chats a second.
const CHAT_INTERVAL: Duration = Duration::from_millis(5);
/// The time for which a client repeats its chat.
pub(super) const RETRY_TIME: Duration = Duration::from_secs(40);
/// Conversations with each agent: few, so that turns queue.
const CONVERSATIONS: usize = 25;

/// Generates chats.
pub(super) struct ChatLoad {
    agents: Agents,
    conversations_of_rules: Vec<String>,
    conversations_of_scripted: Vec<String>,
    name: String,
    number: usize,
    random: Random,
    /// The length of a script, in milliseconds.
    pub(super) script: Range<u64>,
    /// The interval of chats.
    pub(super) interval: Duration,
}

impl ChatLoad {
    /// Creates conversations; `name` is part of each tag.
    pub(super) async fn prepare(
        endpoint: &Endpoint,
        agents: &Agents,
        name: String,
        random: Random,
    ) -> Result<Self> {
        Ok(Self {
            conversations_of_rules: create_conversations(endpoint, &agents.rules, CONVERSATIONS)
                .await?,
            conversations_of_scripted: create_conversations(
                endpoint,
                &agents.scripted,
                CONVERSATIONS,
            )
            .await?,
            agents: agents.clone(),
            name,
            number: 0,
            random,
            script: 50..300,
            interval: CHAT_INTERVAL,
        })
    }

    /// Returns the next chat.
    pub(super) fn next(&mut self) -> Chat {
        self.number += 1;
        let random = &mut self.random;
        let tag = format!("{}-{:06}", self.name, self.number);
        let (agent, conversations) = if random.number(0..5) < 2 {
            // Four deltas have three pauses between them.
            let part = random.milliseconds(self.script.clone()) / 4;
            let pacing = Pacing {
                first: part,
                between: part,
                more: 1,
            };
            let agent = Agent::Scripted(self.agents.scripted.clone(), pacing);
            (agent, &self.conversations_of_scripted)
        } else {
            let agent = Agent::Rules(self.agents.rules.clone());
            (agent, &self.conversations_of_rules)
        };
        let is_new = random.is_one_in(6);
        Chat {
            agent,
            conversation: (!is_new).then(|| random.pick(conversations).clone()),
            key: self.number.is_multiple_of(2).then(|| format!("key-{tag}")),
            response_mode: *random.pick(&[
                ResponseMode::Full,
                ResponseMode::Full,
                ResponseMode::Async,
                ResponseMode::Stream,
            ]),
            tag,
        }
    }

    /// Sends chats for `duration`, each by a client of its own.
    pub(super) async fn run(
        &mut self,
        nodes: &Nodes,
        duration: Duration,
        clients: &mut JoinSet<Acknowledgements>,
    ) {
        let end = Instant::now() + duration;
        let mut ticks = time::interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        while Instant::now() < end {
            ticks.tick().await;
            let acks = Acknowledgements::none(self.next());
            let deadline = Deadline {
                number: self.number,
                at: Instant::now() + RETRY_TIME,
            };
            clients.spawn(acks.send_until_replied(nodes.clone(), deadline));
        }
    }
}
