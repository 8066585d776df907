//! The settings by which the nodes of several regions know each other.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use dev_load::{
    service::{Settings, generate_key},
    upstream::{ResponseMode, Upstream},
};
use dev_tools::{process::root, redis_server::free_port};

use super::region::Region;

/// The folder of the services' logs.
const LOGS: &str = "target/regions";

/// The settings of all nodes.
pub(crate) struct NodeSettings {
    program: PathBuf,
    /// The API key with all scopes.
    key: String,
    /// The secret of all far regions.
    region_key: String,
    /// The ports of all nodes: the home node names the addresses of far ones before they start.
    ports: Vec<(Region, u16)>,
    model: String,
}

impl NodeSettings {
    /// Chooses keys and ports.
    pub(crate) fn new(program: &Path, upstream: &Upstream) -> Result<Self> {
        let logs = root().join(LOGS);
        fs::create_dir_all(&logs).with_context(|| format!("cannot make {LOGS}"))?;
        let nodes = std::iter::once(Region::HOME).chain(Region::FAR);
        let ports = nodes.map(|region| Ok((region, free_port()?)));
        Ok(Self {
            program: program.to_owned(),
            key: generate_key(program)?,
            region_key: generate_key(program)?,
            ports: ports.collect::<Result<_>>()?,
            model: upstream.base_url(ResponseMode::Paced),
        })
    }

    /// The settings of the home node.
    pub(crate) fn home(&self, database_url: String) -> Settings {
        let mut settings = self.node(Region::HOME, database_url);
        for region in Region::FAR {
            let section = format!("REGIONS__{}", id(region).to_uppercase());
            settings.variables.extend([
                (format!("{section}__KEYS"), self.region_key.clone()),
                (format!("{section}__URL"), self.url(region)),
            ]);
        }
        settings
    }

    /// The settings of a far node, which reaches the home node at `home_url`.
    pub(crate) fn far(&self, region: Region, database_url: String, home_url: String) -> Settings {
        let mut settings = self.node(region, database_url);
        settings.variables.extend([
            ("REGION__KEY".to_owned(), self.region_key.clone()),
            ("REGION__HOME_URL".to_owned(), home_url),
        ]);
        settings
    }

    fn node(&self, region: Region, database_url: String) -> Settings {
        let variables = [
            ("SERVER__PORT", self.port(region).to_string()),
            ("AUTH__ISSUER_URL", self.url(Region::HOME)),
            ("REGION__NAME", id(region)),
            ("LLM__BASE_URL", self.model.clone()),
            ("LLM__MODEL", "mock".to_owned()),
        ];
        let log = root().join(LOGS).join(id(region));
        Settings {
            program: self.program.clone(),
            workers: 1,
            database_url,
            key: self.key.clone(),
            variables: variables
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            log: Some(log.with_extension("log")),
        }
    }

    fn url(&self, region: Region) -> String {
        format!("http://127.0.0.1:{}", self.port(region))
    }

    fn port(&self, region: Region) -> u16 {
        let port = self.ports.iter().find(|(of, _)| *of == region);
        port.map_or(0, |(_, port)| *port)
    }
}

/// The name of a region in settings.
pub(crate) fn id(region: Region) -> String {
    region.name().to_lowercase()
}
