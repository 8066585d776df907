//! Long distances on one machine: relays of TCP connections with a delay, in user space.

mod connection;
mod link;

pub use self::link::Link;

#[cfg(test)]
mod tests;
