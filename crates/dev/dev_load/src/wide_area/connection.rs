//! A connection over a link.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    time::{Instant, sleep, sleep_until},
};

use super::link::LinkState;

/// The most bytes that are read at once, and the number of such reads on the way.
const READ_BYTES: usize = 64 * 1024;
const IN_FLIGHT: usize = 1_024;
/// The bytes of a packet on an Ethernet.
const PACKET_BYTES: usize = 1_460;
/// The time after which Linux repeats the first packet of a connection.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(1);
/// The least time after which Linux repeats a packet of an open connection, in addition to the
/// round trip.
const RETRANSMISSION_TIMEOUT: Duration = Duration::from_millis(200);
/// The longest time between two repetitions.
const MAX_RETRANSMISSION_TIMEOUT: Duration = Duration::from_mins(2);

/// A direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToTarget,
    FromTarget,
}

/// Relays a connection until both ends are closed, or one is reset.
pub(super) async fn relay(
    client: TcpStream,
    mut state: watch::Receiver<LinkState>,
) -> io::Result<()> {
    pass(&mut state, Instant::now(), HANDSHAKE_TIMEOUT).await?;
    let LinkState {
        target, round_trip, ..
    } = *state.borrow();
    sleep(round_trip).await;
    let target = target.ok_or(io::ErrorKind::ConnectionRefused)?;
    let server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::try_join!(
        transfer(from_client, to_server, state.clone(), Direction::ToTarget),
        transfer(from_server, to_client, state, Direction::FromTarget),
    )?;
    Ok(())
}

/// Bytes on their way; none at the end of the stream.
struct Packet {
    sent: Instant,
    due: Instant,
    bytes: Vec<u8>,
}

/// Transfers the bytes of a direction until it ends.
async fn transfer(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<LinkState>,
    direction: Direction,
) -> io::Result<()> {
    let (sender, mut packets) = mpsc::channel::<Packet>(IN_FLIGHT);
    let delays = state.clone();
    let read = async move {
        let mut buffer = vec![0; READ_BYTES];
        let mut due = Instant::now();
        loop {
            let bytes = from.read(&mut buffer).await?;
            let sent = Instant::now();
            // Also if the delay has become shorter, no byte overtakes another.
            due = due.max(sent + delays.borrow().delay(direction));
            if loses_packet(bytes, delays.borrow().loss) {
                due += delays.borrow().round_trip;
            }
            let packet = Packet {
                sent,
                due,
                bytes: buffer[..bytes].to_vec(),
            };
            if sender.send(packet).await.is_err() || bytes == 0 {
                return io::Result::Ok(());
            }
        }
    };
    let write = async move {
        while let Some(packet) = packets.recv().await {
            if packet.due > Instant::now() {
                sleep_until(packet.due).await;
            }
            let timeout = RETRANSMISSION_TIMEOUT + state.borrow().round_trip;
            pass(&mut state, packet.sent, timeout).await?;
            if packet.bytes.is_empty() {
                return to.shutdown().await;
            }
            to.write_all(&packet.bytes).await?;
        }
        Ok(())
    };
    tokio::try_join!(read, write)?;
    Ok(())
}

/// Returns whether at least one packet of some bytes is lost. Counts the packets of all connections.
fn loses_packet(bytes: usize, one_of: u32) -> bool {
    static PACKETS: AtomicUsize = AtomicUsize::new(0);
    let packets = bytes.div_ceil(PACKET_BYTES);
    let before = PACKETS.fetch_add(packets, Ordering::Relaxed);
    let lost = |count: usize| count.checked_div(one_of as usize);
    lost(before) != lost(before + packets)
}

/// Waits while the link is cut, and then until TCP repeats what was sent first.
async fn pass(
    state: &mut watch::Receiver<LinkState>,
    sent: Instant,
    timeout: Duration,
) -> io::Result<()> {
    while state.borrow().is_cut {
        let healed = state.wait_for(|state| !state.is_cut).await;
        healed.map_err(|_dropped| io::ErrorKind::ConnectionAborted)?;
        sleep_until(sent + next_repetition(sent.elapsed(), timeout)).await;
    }
    Ok(())
}

/// Returns the time from the first transmission to the first repetition that is not before `age`;
/// the time between repetitions doubles.
pub(super) fn next_repetition(age: Duration, timeout: Duration) -> Duration {
    let (mut at, mut pause) = (timeout, timeout);
    while at < age {
        pause = (pause * 2).min(MAX_RETRANSMISSION_TIMEOUT);
        at += pause;
    }
    at
}

impl LinkState {
    fn delay(&self, direction: Direction) -> Duration {
        let lag = match direction {
            Direction::ToTarget => Duration::ZERO,
            Direction::FromTarget => self.lag,
        };
        self.round_trip / 2 + lag
    }
}
