//! Two nodes, of which one reaches Postgres through a relay.

use std::time::Duration;

use anyhow::{Result, bail};
use dev_load::{Endpoint, service::Service};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    bus::Bus,
    kill::start_load,
    relay::{Link, Relay},
};
use crate::{
    acknowledgements::{Acknowledgements, Nodes},
    chat::{Agent, Chat, Outcome, ResponseMode, TIMEOUT},
    chat_load::ChatLoad,
    environment::{Agents, Environment},
    random::Random,
};

/// The interval of chats.
const CHAT_INTERVAL: Duration = Duration::from_millis(25);
/// The longest until a node serves again.
const RECOVERY: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(50);

/// Two nodes, the second of which reaches Postgres and Redis through relays.
pub(super) struct Pair {
    pub(super) one: Endpoint,
    pub(super) other: Endpoint,
    bus: Bus,
    postgres: Relay,
    redis: Option<Relay>,
    agents: Agents,
    _services: [Service; 2],
}

impl Pair {
    /// Starts both on a new store of this name, and waits until they receive signals.
    pub(super) async fn start(environment: &Environment, bus: Bus, name: &str) -> Result<Self> {
        let mut settings = bus.settings(environment, name)?;
        let one = Service::start(settings.clone())?;
        let postgres = Relay::start_postgres(&settings.database_url).await?;
        settings.database_url.clone_from(&postgres.url);
        let mut redis = None;
        if bus == Bus::Redis {
            let port = environment.redis()?.port();
            let relay = Relay::start_redis(port).await?;
            let url = ("BUS__URL".to_owned(), relay.url.clone());
            settings.variables.push(url);
            redis = Some(relay);
        }
        let other = Service::start(settings)?;
        let pair = Self {
            one: one.endpoint()?,
            other: other.endpoint()?,
            bus,
            postgres,
            redis,
            agents: Agents::create(&one.endpoint()?).await?,
            _services: [one, other],
        };
        for endpoint in [&pair.one, &pair.other] {
            bus.wait_until_used(endpoint).await?;
        }
        Ok(pair)
    }

    /// Changes the other node's connections to the bus.
    pub(super) fn set_bus(&self, link: Link) {
        self.relay_of_bus().set_bus(link);
    }

    /// Changes its connections to the store, but not those to the bus.
    pub(super) fn set_store(&self, link: Link) {
        self.postgres.set_store(link);
        if self.redis.is_some() {
            self.postgres.set_bus(link);
        }
    }

    /// Cuts all connections over which the other node receives signals.
    pub(super) async fn cut_signals(&self) -> Result<()> {
        for relay in [Some(&self.postgres), self.redis.as_ref()] {
            relay.inspect(|relay| relay.set_bus(Link::Closed));
        }
        Bus::Postgres.wait_until(false, &self.other).await?;
        self.wait_for_bus(false).await
    }

    /// Returns whether the other node receives signals over the bus.
    pub(super) async fn has_bus(&self) -> Result<bool> {
        self.bus.is_connected(&self.other).await
    }

    /// Waits until the other node receives signals over the bus, or none.
    pub(super) async fn wait_for_bus(&self, connected: bool) -> Result<()> {
        self.bus.wait_until(connected, &self.other).await
    }

    /// The number of times that a connection of the other node was changed.
    pub(super) fn cut(&self) -> usize {
        let relays = [Some(&self.postgres), self.redis.as_ref()];
        relays.into_iter().flatten().map(Relay::cut).sum()
    }

    /// The number of the other node's connections to the bus that the server closed.
    pub(super) fn closed_by_bus(&self) -> usize {
        self.relay_of_bus().closed_by_server()
    }

    fn relay_of_bus(&self) -> &Relay {
        self.redis.as_ref().unwrap_or(&self.postgres)
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
