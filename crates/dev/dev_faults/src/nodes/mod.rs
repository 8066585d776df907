//! N1, N4, N5, N6, N7: faults of several nodes on one Postgres database.

mod bus;
mod bus_fault;
mod cluster;
mod kill;
mod limits;
mod pair;
mod proxy;
mod reader;
mod redis_values;
mod relay;
mod revocation;
mod server_stream;
mod upgrade;

pub(super) use self::{
    bus::Bus,
    bus_fault::{BusFault, run as run_bus_fault},
    kill::run as kill,
    limits::run as exceed_limits,
    revocation::run as revoke,
    upgrade::run as upgrade,
};
