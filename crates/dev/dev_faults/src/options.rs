//! The command line.

use std::path::PathBuf;

use clap::ValueEnum;

use super::{environment::Store, nodes::Bus};

/// Injects faults into the service under load, and counts losses
#[derive(clap::Parser)]
#[command(name = "cargo xtask faults", bin_name = "cargo xtask faults")]
pub(super) struct Options {
    /// Inject only these faults, such as F1,F2
    #[arg(long, value_delimiter = ',', ignore_case = true)]
    pub(super) only: Vec<Fault>,
    /// Only on SQLite
    #[arg(long, conflicts_with = "postgres")]
    pub(super) sqlite: bool,
    /// Only on Postgres
    #[arg(long)]
    pub(super) postgres: bool,
    /// Number of kills on each store
    #[arg(long, default_value_t = 10)]
    pub(super) kills: usize,
    /// Number of kills of one of several nodes
    #[arg(long, default_value_t = 4)]
    pub(super) node_kills: usize,
    /// Number of faults at each boundary of J1, on each store
    #[arg(long, default_value_t = 200)]
    pub(super) runs: usize,
    /// Number of sockets that are opened and closed
    #[arg(long, default_value_t = 20_000)]
    pub(super) cycles: usize,
    /// Seed of the random numbers: the same seed gives the same chats
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Build profile of the service
    #[arg(long, default_value = "bench-local")]
    pub(super) profile: String,
    /// Use this build of the example `scripted_service` instead of building it
    #[arg(long)]
    pub(super) program: Option<PathBuf>,
    /// Start the nodes that N7 replaces with this build of `scripted_service`, as of another version
    #[arg(long)]
    pub(super) previous_program: Option<PathBuf>,
    /// Inject N1 and N4 to N7 also, or only, with a Redis server between the nodes
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "also")]
    pub(super) redis: Option<WithRedis>,
}

/// The use of a Redis server between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum WithRedis {
    /// Once without it, and once with it
    Also,
    /// Only with it
    Only,
}

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Fault {
    /// The process is killed
    #[value(name = "F1")]
    F1,
    /// Postgres is stopped or frozen
    #[value(name = "F2")]
    F2,
    /// SQLite's disk is full
    #[value(name = "F3")]
    F3,
    /// Language model servers fail
    #[value(name = "F4")]
    F4,
    /// Clients misbehave
    #[value(name = "F5")]
    F5,
    /// Clients disconnect
    #[value(name = "F6")]
    F6,
    /// The process receives SIGTERM
    #[value(name = "F7")]
    F7,
    /// Sockets are opened and closed
    #[value(name = "F8")]
    F8,
    /// A hostile tenant floods the service
    #[value(name = "F9")]
    F9,
    /// One of several nodes is killed
    #[value(name = "N1")]
    N1,
    /// A key exceeds its limit on several nodes
    #[value(name = "N4")]
    N4,
    /// A key is revoked on another node
    #[value(name = "N5")]
    N5,
    /// A node is cut off from the bus, or from the store
    #[value(name = "N6")]
    N6,
    /// All nodes are replaced
    #[value(name = "N7")]
    N7,
    /// Processes die, are suspended or lose their store in turns with tools
    #[value(name = "J1")]
    J1,
    /// Answers to a call race
    #[value(name = "J4")]
    J4,
    /// Many turns wait for answers
    #[value(name = "J6")]
    J6,
    /// Clients lose their sockets and resume
    #[value(name = "resume")]
    Resume,
}

impl Options {
    pub(super) fn wants(&self, fault: Fault) -> bool {
        match fault {
            // They take long.
            Fault::J1 | Fault::J4 | Fault::J6 => self.only.contains(&fault),
            _ => self.only.is_empty() || self.only.contains(&fault),
        }
    }

    pub(super) fn buses(&self) -> impl Iterator<Item = Bus> + use<> {
        let buses = [
            (Bus::Postgres, self.redis != Some(WithRedis::Only)),
            (Bus::Redis, self.redis.is_some()),
        ];
        let wanted = buses.into_iter().filter(|(_, is_wanted)| *is_wanted);
        wanted.map(|(bus, _)| bus)
    }

    pub(super) fn stores(&self) -> impl Iterator<Item = Store> + use<> {
        let (sqlite, postgres) = (!self.postgres, !self.sqlite);
        let stores = [(Store::Sqlite, sqlite), (Store::Postgres, postgres)];
        stores
            .into_iter()
            .filter_map(|(store, wanted)| wanted.then_some(store))
    }
}
