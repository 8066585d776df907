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

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_kept_but_a_slow_head_is_not() {
    let (mut connection, mut client) = connected(64);
    connection.state().end_request();
    let mut buffer = [0; 64];
    let resting = tokio::time::timeout(Duration::from_mins(1), connection.read(&mut buffer));
    assert!(resting.await.is_err(), "nothing was sent, nothing is late");
    client.write_all(b"GET").await.unwrap();
    assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
    let started = Instant::now();
    let error = connection.read(&mut buffer).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(started.elapsed().as_secs(), HEADER_DEADLINE.as_secs());
}

#[tokio::test(start_paused = true)]
async fn each_head_has_its_own_deadline() {
    let (mut connection, mut client) = connected(64);
    let state = connection.state();
    let mut buffer = [0; 64];
    for _ in 0..3 {
        state.end_request();
        client.write_all(b"GET").await.unwrap();
        assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
        tokio::time::advance(Duration::from_secs(4)).await;
        state.begin_request(true);
        // Body bytes take their own time, under a deadline of their own.
        client.write_all(b"body").await.unwrap();
        assert_eq!(connection.read(&mut buffer).await.unwrap(), 4);
        tokio::time::advance(Duration::from_secs(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn each_head_has_its_own_deadline_without_reads_between() {
    let (mut connection, mut client) = connected(64);
    let state = connection.state();
    let mut buffer = [0; 64];
    for _ in 0..3 {
        state.end_request();
        client.write_all(b"GET").await.unwrap();
        assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
        state.begin_request(true);
        tokio::time::advance(Duration::from_secs(4)).await;
    }
}

#[tokio::test]
async fn the_close_of_the_client_is_reported() {
    let (mut connection, mut client) = connected(64);
    let left = connection.state().client_closed();
    client.write_all(b"GET").await.unwrap();
    let mut buffer = [0; 64];
    assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
    let mut left = pin!(left);
    assert_eq!(left.as_mut().now_or_never(), None);
    client.shutdown().await.unwrap();
    let reading = async { connection.read(&mut buffer).await.unwrap() };
    assert_eq!(tokio::join!(left, reading), ((), 0));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_disconnected() {
    let (mut connection, client) = connected(4);
    let started = Instant::now();
    let error = connection.write_all(b"a long answer").await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(started.elapsed().as_secs(), STALL_DEADLINE.as_secs());
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_too_slowly_is_disconnected() {
    let (mut connection, mut client) = connected(4);
    let sipping = async {
        while client.read_u8().await.is_ok() {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    };
    let writing = async move {
        let started = Instant::now();
        let error = connection.write_all(&[b'x'; 1_000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() < STALL_DEADLINE + Duration::from_secs(6));
    };
    tokio::join!(sipping, writing);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_the_last_bytes_is_disconnected_sooner() {
    let (mut connection, client) = connected(4);
    let state = connection.state();
    let started = Instant::now();
    let parting = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        state.begin_closing();
        started.elapsed()
    };
    let writing = async {
        // The task polls again whenever something happens in it.
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        let mut writing = pin!(connection.write_all(b"a long answer"));
        loop {
            tokio::select! {
                outcome = &mut writing => break (outcome.unwrap_err(), started.elapsed()),
                _ = ticks.tick() => {}
            }
        }
    };
    let (parted, (error, left)) = tokio::join!(parting, writing);
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    let waited = left.saturating_sub(parted);
    let soon = CLOSING_DEADLINE..CLOSING_DEADLINE + Duration::from_millis(200);
    assert!(soon.contains(&waited), "{waited:?}");
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_its_last_bytes_steadily_receives_all_of_them() {
    let (mut connection, mut client) = connected(MIN_BYTES_TAKEN);
    connection.state().begin_closing();
    let bytes = vec![b'x'; 10 * MIN_BYTES_TAKEN];
    let writing = async {
        connection.write_all(&bytes).await.unwrap();
        connection.shutdown().await.unwrap();
        drop(connection);
    };
    let reading = async {
        let mut part = vec![0; MIN_BYTES_TAKEN];
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(10)).await;
            client.read_exact(&mut part).await.unwrap();
        }
    };
    tokio::join!(writing, reading);
}

#[tokio::test(start_paused = true)]
async fn the_last_write_to_a_client_of_another_protocol_is_recorded() {
    let (mut connection, mut client) = connected(4);
    let state = connection.state();
    connection.write_all(b"HTTP").await.unwrap();
    assert_eq!(state.last_write_at(), None);
    state.switch_protocol();
    let started = Instant::now();
    let writing = connection.write_all(b"a frame");
    let reading = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        client.read_exact(&mut [0; 11]).await.unwrap();
    };
    let (written, ()) = tokio::join!(writing, reading);
    written.unwrap();
    assert_eq!(
        state.last_write_at(),
        Some(started + Duration::from_secs(5))
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_has_ended_is_not_read_any_more() {
    let (mut connection, mut client) = connected(4);
    client.write_all(b"more").await.unwrap();
    connection.state().close_read();
    let mut buffer = [0; 4];
    assert_eq!(connection.read(&mut buffer).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_a_stream_steadily_is_kept() {
    let (mut connection, mut client) = connected(4);
    let mut read = Vec::new();
    let reading = client.read_to_end(&mut read);
    let writing = async move {
        for _ in 0..100 {
            connection.write_all(b"an event").await.unwrap();
            connection.flush().await.unwrap();
            tokio::time::sleep(Duration::from_secs(20)).await;
        }
    };
    let (count, ()) = tokio::join!(reading, writing);
    assert_eq!(count.unwrap(), 800);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_wakes_up_in_time_receives_the_last_bytes() {
    let (mut connection, mut client) = connected(64);
    let state = connection.state();
    let frames = vec![b'x'; 1_000];
    let sending = async {
        state.begin_closing();
        // The dispatcher takes it for closed from now on, whatever the client sends.
        state.close_read();
        connection.write_all(&frames).await.unwrap();
        connection.shutdown().await.unwrap();
        drop(connection);
    };
    let waking = async {
        client
            .write_all(b"what it sent before it fell asleep")
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(12)).await;
        let mut read = Vec::new();
        client.read_to_end(&mut read).await.unwrap();
        read
    };
    let ((), read) = tokio::join!(sending, waking);
    assert_eq!(read.len(), frames.len());
}

#[tokio::test(start_paused = true)]
async fn input_after_the_end_is_discarded_until_the_client_closes() {
    let (mut connection, mut client) = connected(4);
    connection.state().begin_closing();
    let started = Instant::now();
    let ending = async {
        connection.write_all(b"the last bytes").await.unwrap();
        connection.shutdown().await.unwrap();
        started.elapsed()
    };
    let answering = async {
        let mut read = [0; 14];
        tokio::time::sleep(Duration::from_secs(1)).await;
        client.read_exact(&mut read).await.unwrap();
        client.write_all(&[b'a'; 100]).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        client.shutdown().await.unwrap();
    };
    let (took, ()) = tokio::join!(ending, answering);
    assert_eq!(took.as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_closes_its_side_is_disconnected_at_the_deadline() {
    let (mut connection, mut client) = connected(4);
    connection.state().begin_closing();
    let started = Instant::now();
    let ending = async {
        connection.write_all(b"the last bytes").await.unwrap();
        connection.shutdown().await.unwrap();
        started.elapsed()
    };
    let mut read = Vec::new();
    let (took, _) = tokio::join!(ending, client.read_to_end(&mut read));
    assert_eq!(took.as_secs(), CLOSING_DEADLINE.as_secs());
}

#[tokio::test(start_paused = true)]
async fn an_active_client_that_does_not_close_its_side_is_disconnected_sooner() {
    let (mut connection, mut client) = connected(4);
    connection.state().begin_closing();
    let started = Instant::now();
    let ending = async {
        connection.write_all(b"the last bytes").await.unwrap();
        connection.shutdown().await.unwrap();
        started.elapsed()
    };
    let answering = async {
        let mut read = Vec::new();
        client.read_to_end(&mut read).await.unwrap();
        client.write_all(b"bye").await.unwrap();
    };
    let (took, ()) = tokio::join!(ending, answering);
    assert_eq!(took.as_secs(), LINGER_DEADLINE.as_secs());
}

/// The response to a first head that does not arrive, and its time.
#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_first_head_starts_with_the_connection() {
    let (mut connection, mut client) = connected(256);
    let started = Instant::now();
    let error = connection.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(started.elapsed().as_secs(), HEADER_DEADLINE.as_secs());
    drop(connection);
    let mut response = Vec::new();
    client.read_to_end(&mut response).await.unwrap();
    assert_eq!(response, TIMEOUT_RESPONSE);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_arrived_while_the_process_was_busy_is_not_late() {
    for is_first in [true, false] {
        let (mut connection, mut client) = connected(64);
        let state = connection.state();
        let mut buffer = [0; 64];
        if !is_first {
            state.end_request();
            client.write_all(b"GET").await.unwrap();
            assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
        }
        // The first poll sets the deadline.
        assert!(connection.read(&mut buffer).now_or_never().is_none());
        tokio::time::advance(HEADER_DEADLINE * 2).await;
        client.write_all(b"the rest").await.unwrap();
        let came = connection.read(&mut buffer).now_or_never();
        assert_eq!(came.unwrap().unwrap(), 8);
        // The dispatcher reads everything available before it parses it.
        assert!(connection.read(&mut buffer).now_or_never().is_none());
        state.begin_request(true);
        tokio::time::advance(HEADER_DEADLINE).await;
        assert!(connection.read(&mut buffer).now_or_never().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_byte_at_the_last_moment_extends_the_deadline_only_a_little() {
    let (mut connection, mut client) = connected(64);
    let started = Instant::now();
    let dribbling = async {
        while client.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let reading = async move {
        while connection.read_u8().await.is_ok() {}
        started.elapsed()
    };
    let ((), took) = tokio::join!(dribbling, reading);
    let most = HEADER_DEADLINE + Duration::from_secs(2);
    assert!((HEADER_DEADLINE..most).contains(&took), "{took:?}");
}

#[tokio::test]
async fn a_refusal_of_the_parser_announces_the_close() {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    const REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    // The client takes a few bytes at a time.
    let (mut connection, mut client) = connected(10);
    let written = async {
        connection
            .write_all(&[ANSWER, REFUSAL].concat())
            .await
            .unwrap();
        connection.shutdown().await.unwrap();
    };
    let mut told = Vec::new();
    let ((), read) = tokio::join!(written, client.read_to_end(&mut told));
    read.unwrap();
    let expected = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(told, [ANSWER, expected.as_slice()].concat());
}
