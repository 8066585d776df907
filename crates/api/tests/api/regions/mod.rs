//! A home region and a far region, each with a service, over one database.

mod access;
mod cursors;
mod delayed_log;
mod fixture;
mod forwarding;
mod nodes;
mod positions;
mod signals;
mod signed_requests;
mod unreachable_home;
mod unreadable_replica;
