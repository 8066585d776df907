//! A home region and a far region, each with a service, over one database.

mod access;
mod cursors;
mod delayed_log;
pub(crate) mod fixture;
mod forwarding;
mod home_stream;
mod large_bodies;
mod nodes;
mod positions;
mod restarts;
mod round_trips;
mod shared_limits;
mod signals;
mod signed_requests;
mod slow_readers;
mod stream_limits;
mod unreachable_home;
mod unreadable_replica;
mod upload_trailers;
mod uploads;
