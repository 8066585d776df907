//! Two nodes, of which one reaches Postgres through a relay.

use std::time::Duration;

use anyhow::{Result, bail};
use dev_load::{
    Endpoint,
    service::{Service, Settings},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{kill::start_load, relay::Relay};
use crate::{
    acknowledgements::{Acknowledgements, Nodes},
    chat::{Agent, Chat, Outcome, ResponseMode, TIMEOUT},
    chat_load::ChatLoad,
    environment::{Agents, Environment, Store},
    random::Random,
};

/// The interval of chats.
const CHAT_INTERVAL: Duration = Duration::from_millis(25);
/// The longest until a node serves, or receives signals again.
const RECOVERY: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(50);

/// Two nodes, the second of which reaches Postgres through a relay.
pub(super) struct Pair {
    pub(super) one: Endpoint,
    pub(super) other: Endpoint,
    pub(super) relay: Relay,
    agents: Agents,
    _services: [Service; 2],
}

impl Pair {
    /// Starts both on a new store of this name, and waits until they receive signals.
    pub(super) async fn start(environment: &Environment, name: &str) -> Result<Self> {
        let settings = environment.settings(Store::Postgres, name)?;
        let relay = Relay::start(&settings.database_url).await?;
        let one = Service::start(settings.clone())?;
        let other = Service::start(Settings {
            database_url: relay.url.clone(),
            ..settings
        })?;
        let pair = Self {
            one: one.endpoint()?,
            other: other.endpoint()?,
            relay,
            agents: Agents::create(&one.endpoint()?).await?,
            _services: [one, other],
        };
        for endpoint in [&pair.one, &pair.other] {
            wait_for_bus(endpoint, true).await?;
        }
        Ok(pair)
    }

    /// Starts chats on the first node, which has no fault.
    pub(super) async fn start_chats(
        &self,
        name: &str,
        random: Random,
        duration: Duration,
    ) -> Result<JoinSet<Vec<Acknowledgements>>> {
        let nodes = Nodes::default();
        nodes.set(vec![self.one.clone()]);
        let chats = ChatLoad::prepare(&self.one, &self.agents, name.to_owned(), random);
        let mut chats = chats.await?;
        chats.interval = CHAT_INTERVAL;
        Ok(start_load(chats, nodes, duration))
    }

    /// Repeats a chat on the node that had the fault, until it is replied to.
    pub(super) async fn wait_for_reply(&self, name: &str) -> Result<()> {
        let started = Instant::now();
        for number in 0.. {
            let chat = Chat {
                tag: format!("{name}-other-{number:04}"),
                agent: Agent::Rules(self.agents.rules.clone()),
                conversation: None,
                key: None,
                response_mode: ResponseMode::Full,
            };
            let outcome = chat.send(&self.other, TIMEOUT).await;
            if matches!(outcome, Outcome::Replied(_)) {
                break;
            }
            if started.elapsed() > RECOVERY {
                bail!("the node does not recover: {outcome:?}");
            }
            sleep(POLL).await;
        }
        Ok(())
    }
}

/// Returns whether a node receives signals of other nodes.
pub(super) async fn has_bus(endpoint: &Endpoint) -> Result<bool> {
    Ok(endpoint.metric("bus_connected").await? == Some(1.0))
}

/// Waits until a node receives signals of other nodes, or none.
pub(super) async fn wait_for_bus(endpoint: &Endpoint, has: bool) -> Result<()> {
    let started = Instant::now();
    while has_bus(endpoint).await? != has {
        if started.elapsed() > RECOVERY {
            bail!(
                "bus_connected of a node is still {} after {RECOVERY:?}",
                !has
            );
        }
        sleep(POLL).await;
    }
    Ok(())
}
