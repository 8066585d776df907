//! N1, N4, N5, N6, N7: faults of several nodes on one Postgres database.

mod bus;
mod cluster;
mod kill;
mod limits;
mod notifications;
mod pair;
mod proxy;
mod reader;
mod relay;
mod revocation;
mod upgrade;

pub(super) use self::{
    bus::{BusFault, run as run_bus_fault},
    kill::run as kill,
    limits::run as exceed_limits,
    revocation::run as revoke,
    upgrade::run as upgrade,
};
