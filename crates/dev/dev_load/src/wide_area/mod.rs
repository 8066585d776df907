//! Long distances on one machine: relays of TCP connections with a delay, in user space.

mod connection;
mod link;
mod listener;

pub use self::link::Link;

#[cfg(test)]
mod tests;
