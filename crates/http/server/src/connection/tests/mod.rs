//! Tests of connections to clients in memory.

mod closing;
mod go_away;
mod header_deadlines;
mod slow_readers;

use std::{pin::pin, time::Duration};

use futures::FutureExt as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    time::Instant,
};

use super::{header_timeout::HEADER_DEADLINE, write::*, *};

fn connected(buffer: usize) -> (Connection<DuplexStream>, DuplexStream) {
    let (server, client) = duplex(buffer);
    (Connection::new(server), client)
}
