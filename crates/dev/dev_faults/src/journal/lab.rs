//! The nodes of one store, with the doubles that they use.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method},
    service::{Service, Settings},
};
use dev_tools::process::signal;
use serde_json::{Value, json};
use tokio::{
    task::block_in_place,
    time::{Instant, sleep},
};

use super::{doubles::Doubles, record::Record, store_gate::StoreGate};
use crate::{
    acknowledgements::Nodes,
    environment::{Environment, Store},
    random::Random,
};

/// The longest until a node that was started has the tools.
const CONNECTED: Duration = Duration::from_secs(20);

/// The nodes and their store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setup {
    Sqlite,
    OneNode,
    TwoNodes,
}

impl Setup {
    pub(crate) const fn store(self) -> Store {
        match self {
            Self::Sqlite => Store::Sqlite,
            Self::OneNode | Self::TwoNodes => Store::Postgres,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::OneNode => "Postgres",
            Self::TwoNodes => "Postgres, two nodes",
        }
    }

    /// The name in those of databases and logs.
    pub(super) const fn slug(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::OneNode => "one",
            Self::TwoNodes => "two",
        }
    }

    const fn nodes(self) -> usize {
        match self {
            Self::Sqlite | Self::OneNode => 1,
            Self::TwoNodes => 2,
        }
    }
}

/// The approver of a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approver {
    User,
    Staff,
}

impl Approver {
    /// The name in configurations, databases and reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Staff => "staff",
        }
    }
}

/// The parts of a laboratory.
pub(super) struct Plan {
    pub(super) setup: Setup,
    pub(super) settings: Settings,
    pub(super) random: Random,
}

impl Plan {
    /// Plans a laboratory on a new store of this name.
    pub(super) fn new(environment: &Environment, setup: Setup, name: &str) -> Result<Self> {
        Ok(Self {
            setup,
            settings: environment.settings(setup.store(), name)?,
            random: Random::new(environment.seed),
        })
    }
}

/// Nodes on one store.
pub(super) struct Lab {
    pub(super) doubles: Doubles,
    services: Vec<Service>,
    /// Those of the nodes, on Postgres.
    gates: Vec<StoreGate>,
    /// The file of the store, on SQLite.
    pub(super) file: Option<PathBuf>,
    /// The agents whose refunds nobody, the user, or staff approves.
    agents: [String; 3],
    /// The nodes that clients use.
    pub(super) nodes: Nodes,
}

impl Lab {
    pub(super) async fn start(plan: Plan) -> Result<Self> {
        let Plan {
            setup,
            mut settings,
            random,
        } = plan;
        let doubles = Doubles::start(Record::new(random)).await?;
        settings.variables.extend(doubles.variables());
        // Every node accepts the tokens that another one has issued.
        let url = ("SERVER__PUBLIC_URL", "https://agents.example.org");
        settings
            .variables
            .push((url.0.to_owned(), url.1.to_owned()));
        let file = settings.database_url.strip_prefix("sqlite://");
        let file = file.map(PathBuf::from);
        let (mut services, mut gates) = (Vec::new(), Vec::new());
        for _ in 0..setup.nodes() {
            let mut own = settings.clone();
            if setup.store() == Store::Postgres {
                let gate = StoreGate::start(&settings.database_url).await?;
                own.database_url.clone_from(&gate.url);
                gates.push(gate);
            }
            services.push(block_in_place(|| Service::start(own))?);
        }
        let first = services.first().context("no node")?.endpoint()?;
        wait_for_tools(&first).await?;
        let mut agents = [const { String::new() }; 3];
        let approvers = [None, Some(Approver::User), Some(Approver::Staff)];
        for (agent, approver) in agents.iter_mut().zip(approvers) {
            *agent = create_agent(&first, approver).await?;
        }
        Ok(Self {
            doubles,
            services,
            gates,
            file,
            agents,
            nodes: Nodes::default(),
        })
    }

    /// The agent whose tools need no approval.
    pub(super) fn free_agent(&self) -> &str {
        &self.agents[0]
    }

    /// The agent whose refunds this one approves.
    pub(super) fn agent(&self, approver: Approver) -> &str {
        match approver {
            Approver::User => &self.agents[1],
            Approver::Staff => &self.agents[2],
        }
    }

    /// The number of nodes.
    pub(super) const fn node_count(&self) -> usize {
        self.services.len()
    }

    /// Starts the nodes that do not run, and waits until all have the tools.
    pub(super) async fn restore(&mut self) -> Result<()> {
        for service in &mut self.services {
            if service.id().is_err() {
                block_in_place(|| service.restart())?;
            }
            wait_for_tools(&service.endpoint()?).await?;
        }
        self.use_running()
    }

    /// Makes clients use all nodes that run.
    fn use_running(&self) -> Result<()> {
        let running = self.services.iter().filter(|service| service.id().is_ok());
        let endpoints: Result<_> = running.map(Service::endpoint).collect();
        self.nodes.set(endpoints?);
        Ok(())
    }

    /// The node that runs the turns of a round, and is killed.
    pub(super) fn victim(&self, round: usize) -> usize {
        round % self.services.len()
    }

    pub(super) fn endpoint(&self, node: usize) -> Result<Endpoint> {
        self.services[node].endpoint()
    }

    /// The relay between a node and its store.
    pub(super) fn gate(&self, node: usize) -> Option<&StoreGate> {
        self.gates.get(node)
    }

    /// Kills a node, and replaces it.
    pub(super) fn kill(&mut self, node: usize) -> Result<()> {
        self.stop(node);
        self.replace(node)
    }

    /// Kills a node.
    pub(super) fn stop(&mut self, node: usize) {
        self.services[node].kill();
        self.nodes.set(Vec::new());
    }

    /// Starts a killed node again unless another one takes over. Clients use those that run.
    pub(super) fn replace(&mut self, node: usize) -> Result<()> {
        if let Some(gate) = self.gates.get(node) {
            gate.open();
        }
        let has_other = self.services.iter().any(|service| service.id().is_ok());
        if !has_other {
            let service = &mut self.services[node];
            block_in_place(|| service.restart())?;
        }
        self.use_running()
    }

    /// Starts a node that was killed.
    pub(super) fn start_again(&mut self, node: usize) -> Result<()> {
        let service = &mut self.services[node];
        if service.id().is_err() {
            block_in_place(|| service.restart())?;
        }
        self.use_running()
    }

    /// The node that adopts the turns of this one.
    pub(super) fn heir(&self, node: usize) -> usize {
        (node + 1) % self.services.len()
    }

    /// Suspends a node. Clients use the others, if there are any.
    pub(super) fn pause(&self, node: usize) -> Result<()> {
        signal("STOP", &[self.services[node].id()?])?;
        let others = self.services.iter().enumerate();
        let others: Vec<_> = others
            .filter(|(index, _)| *index != node)
            .filter_map(|(_, service)| service.endpoint().ok())
            .collect();
        self.nodes.set(others);
        Ok(())
    }

    /// Wakes a node up.
    pub(super) fn wake(&self, node: usize) -> Result<()> {
        signal("CONT", &[self.services[node].id()?])?;
        self.use_running()
    }
}

/// Waits until a node is connected to both tool servers.
async fn wait_for_tools(endpoint: &Endpoint) -> Result<()> {
    let (client, started) = (ApiClient::new(endpoint), Instant::now());
    loop {
        let found = client.call(Method::GET, "/api/capabilities", None).await?;
        let all = found["data"].as_array().cloned().unwrap_or_default();
        let is_there = |name: &str| {
            let mut all = all.iter();
            all.any(|it| it["name"] == name && it["available"] == true)
        };
        if ["shop/refund", "stock/reserve"].into_iter().all(is_there) {
            return Ok(());
        }
        if started.elapsed() > CONNECTED {
            bail!("a node has no tools after {CONNECTED:?}: {found}");
        }
        sleep(Duration::from_millis(20)).await;
    }
}

async fn create_agent(endpoint: &Endpoint, approver: Option<Approver>) -> Result<String> {
    let free = |name: &str| json!({ "name": name, "approval": "never" });
    let mut refund = free("shop/refund");
    if let Some(approver) = approver {
        refund["approval"] = "always".into();
        refund["approver"] = approver.name().into();
    }
    let tools = [free("shop/price"), free("stock/reserve"), refund];
    let draft = json!({ "name": "Clerk", "config": { "engine": "llm", "tools": tools } });
    let client = ApiClient::new(endpoint);
    let made: Value = client
        .call(Method::POST, "/api/agents", Some(&draft))
        .await?;
    made["id"].as_str().map(str::to_owned).context("no id")
}
