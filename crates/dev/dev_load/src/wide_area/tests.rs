//! Tests with real time: a link is a clock.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy},
    net::{TcpListener, TcpStream},
    runtime::Handle,
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{Link, connection::next_repetition};

const ROUND_TRIP: Duration = Duration::from_millis(200);
/// The time that timers and a busy machine add.
const TOLERANCE: Duration = Duration::from_millis(150);
const LIMIT: Duration = Duration::from_secs(20);

/// A link to a server that returns what it receives.
struct Fixture {
    link: Link,
    _echo: JoinSet<()>,
}

impl Fixture {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let link = Link::open(&Handle::current(), ROUND_TRIP).unwrap();
        link.lead_to(listener.local_addr().unwrap());
        let mut echo = JoinSet::new();
        echo.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(async move {
                    let (mut from, mut to) = stream.into_split();
                    let _ = copy(&mut from, &mut to).await;
                });
            }
        });
        Self { link, _echo: echo }
    }

    async fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.link.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }
}

/// Sends bytes and returns the time until they are back.
async fn echo(stream: &mut TcpStream, bytes: &[u8]) -> Duration {
    let started = Instant::now();
    let (mut from, mut to) = stream.split();
    let mut received = vec![0; bytes.len()];
    let exchange = async { tokio::try_join!(to.write_all(bytes), from.read_exact(&mut received)) };
    timeout(LIMIT, exchange).await.unwrap().unwrap();
    assert_eq!(received, bytes);
    started.elapsed()
}

fn assert_takes(measured: Duration, expected: Duration) {
    let range = expected..expected + TOLERANCE;
    assert!(range.contains(&measured), "{measured:?}, not {expected:?}");
}

#[tokio::test]
async fn a_new_connection_takes_two_round_trips_and_an_open_one_takes_one() {
    let fixture = Fixture::start().await;
    let started = Instant::now();
    let mut stream = fixture.connect().await;
    echo(&mut stream, b"first").await;
    assert_takes(started.elapsed(), ROUND_TRIP * 2);
    assert_takes(echo(&mut stream, b"second").await, ROUND_TRIP);
    assert_eq!(fixture.link.connections(), 1);
    fixture.link.set_round_trip(Duration::ZERO);
    assert_takes(echo(&mut stream, b"near").await, Duration::ZERO);
}

#[tokio::test]
async fn bytes_arrive_complete_and_in_order_and_are_not_delayed_by_those_before() {
    let fixture = Fixture::start().await;
    let mut stream = fixture.connect().await;
    echo(&mut stream, b"opened").await;
    let many: Vec<u8> = (0..4_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    let shorten = async {
        tokio::time::sleep(ROUND_TRIP / 2).await;
        fixture.link.set_round_trip(ROUND_TRIP / 4);
    };
    let (elapsed, ()) = tokio::join!(echo(&mut stream, &many), shorten);
    assert!(elapsed < ROUND_TRIP * 10, "{elapsed:?}");
}

#[tokio::test]
async fn the_lag_delays_only_bytes_from_the_target() {
    let fixture = Fixture::start().await;
    let mut stream = fixture.connect().await;
    echo(&mut stream, b"opened").await;
    let lag = Duration::from_millis(300);
    fixture.link.set_lag(lag);
    assert_takes(echo(&mut stream, b"late").await, ROUND_TRIP + lag);
}

#[tokio::test]
async fn a_cut_holds_bytes_until_they_are_repeated_and_closes_nothing() {
    let fixture = Fixture::start().await;
    let mut stream = fixture.connect().await;
    echo(&mut stream, b"opened").await;
    fixture.link.cut();
    let started = Instant::now();
    stream.write_all(b"lost").await.unwrap();
    let mut received = [0; 4];
    let silence = Duration::from_millis(600);
    let early = timeout(silence, stream.read(&mut received)).await;
    assert!(early.is_err(), "{early:?}");
    fixture.link.heal();
    let read = timeout(LIMIT, stream.read_exact(&mut received)).await;
    read.unwrap().unwrap();
    assert_eq!(&received, b"lost");
    // 400 ms after the first transmission, and 800 ms after the second.
    assert_takes(
        started.elapsed(),
        Duration::from_millis(1_200) + ROUND_TRIP / 2,
    );
    assert_takes(echo(&mut stream, b"healed").await, ROUND_TRIP);
}

#[tokio::test]
async fn new_connections_open_only_after_a_cut() {
    let fixture = Fixture::start().await;
    fixture.link.cut();
    let connect = || timeout(ROUND_TRIP, TcpStream::connect(fixture.link.address));
    let started = Instant::now();
    let mut opened = Vec::new();
    while let Ok(connected) = connect().await {
        assert!(started.elapsed() < LIMIT, "connections still open");
        opened.push(connected.unwrap());
    }
    let connecting = fixture.connect();
    tokio::pin!(connecting);
    let early = timeout(ROUND_TRIP * 2, &mut connecting).await;
    assert!(early.is_err(), "a connection is open during the cut");
    fixture.link.heal();
    let mut stream = timeout(LIMIT, connecting).await.unwrap();
    echo(&mut stream, b"healed").await;
}

#[tokio::test]
async fn a_lost_packet_arrives_a_round_trip_later() {
    let fixture = Fixture::start().await;
    let mut stream = fixture.connect().await;
    echo(&mut stream, b"opened").await;
    // One in each direction.
    fixture.link.lose_one_of(1);
    assert_takes(echo(&mut stream, b"lost").await, ROUND_TRIP * 3);
    fixture.link.lose_one_of(0);
    assert_takes(echo(&mut stream, b"received").await, ROUND_TRIP);
}

#[tokio::test]
async fn both_ends_are_closed_after_the_delay() {
    let fixture = Fixture::start().await;
    let mut stream = fixture.connect().await;
    echo(&mut stream, b"opened").await;
    let started = Instant::now();
    stream.shutdown().await.unwrap();
    assert_eq!(stream.read(&mut [0; 4]).await.unwrap(), 0);
    assert_takes(started.elapsed(), ROUND_TRIP);
}

#[tokio::test]
async fn a_link_without_target_closes_connections() {
    let link = Link::open(&Handle::current(), Duration::ZERO).unwrap();
    let mut stream = TcpStream::connect(link.address).await.unwrap();
    let read = timeout(LIMIT, stream.read(&mut [0; 4])).await.unwrap();
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
}

#[test]
fn the_time_between_repetitions_doubles() {
    let after = |age| next_repetition(Duration::from_millis(age), Duration::from_millis(300));
    let times = [0, 300, 301, 901, 2_101].map(|age| after(age).as_millis());
    assert_eq!(times, [300, 300, 900, 2_100, 4_500]);
}
