use std::pin::pin;

use futures::FutureExt as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    time::Instant,
};

use super::{heads::HEAD_DEADLINE, *};

fn connected(buffer: usize) -> (Connection<DuplexStream>, DuplexStream) {
    let (server, client) = duplex(buffer);
    (Connection::new(server), client)
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_may_rest_but_not_dawdle() {
    let (mut connection, mut client) = connected(64);
    connection.progress().end();
    let mut buffer = [0; 64];
    let resting = tokio::time::timeout(Duration::from_mins(1), connection.read(&mut buffer));
    assert!(resting.await.is_err(), "nothing was sent, nothing is late");
    client.write_all(b"GET").await.unwrap();
    assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
    let started = Instant::now();
    let error = connection.read(&mut buffer).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(started.elapsed().as_secs(), HEAD_DEADLINE.as_secs());
}

#[tokio::test(start_paused = true)]
async fn each_head_has_its_own_time() {
    let (mut connection, mut client) = connected(64);
    let progress = connection.progress();
    let mut buffer = [0; 64];
    for _ in 0..3 {
        progress.end();
        client.write_all(b"GET").await.unwrap();
        assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
        tokio::time::advance(Duration::from_secs(4)).await;
        progress.begin(true);
        // Body bytes take their own time, under a deadline of their own.
        client.write_all(b"body").await.unwrap();
        assert_eq!(connection.read(&mut buffer).await.unwrap(), 4);
        tokio::time::advance(Duration::from_secs(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn each_head_has_its_own_time_also_where_nothing_is_read_between() {
    let (mut connection, mut client) = connected(64);
    let progress = connection.progress();
    let mut buffer = [0; 64];
    for _ in 0..3 {
        progress.end();
        client.write_all(b"GET").await.unwrap();
        assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
        progress.begin(true);
        tokio::time::advance(Duration::from_secs(4)).await;
    }
}

#[tokio::test]
async fn is_told_when_the_client_closes_its_side() {
    let (mut connection, mut client) = connected(64);
    let left = connection.progress().left();
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
async fn who_does_not_read_is_left() {
    let (mut connection, client) = connected(4);
    let started = Instant::now();
    let error = connection.write_all(b"a long answer").await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(started.elapsed().as_secs(), STALL_DEADLINE.as_secs());
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn who_sips_is_left_too() {
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
async fn who_does_not_read_the_last_bytes_is_left_before_long() {
    let (mut connection, client) = connected(4);
    let progress = connection.progress();
    let started = Instant::now();
    let parting = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        progress.part();
        started.elapsed()
    };
    let writing = async {
        // The task looks again whenever something happens in it.
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
    let soon = PARTING_DEADLINE..PARTING_DEADLINE + Duration::from_millis(200);
    assert!(soon.contains(&waited), "{waited:?}");
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_its_last_bytes_steadily_gets_all_of_them() {
    let (mut connection, mut client) = connected(LEAST_TAKEN);
    connection.progress().part();
    let bytes = vec![b'x'; 10 * LEAST_TAKEN];
    let writing = async {
        connection.write_all(&bytes).await.unwrap();
        connection.shutdown().await.unwrap();
        drop(connection);
    };
    let reading = async {
        let mut part = vec![0; LEAST_TAKEN];
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(10)).await;
            client.read_exact(&mut part).await.unwrap();
        }
    };
    tokio::join!(writing, reading);
}

#[tokio::test(start_paused = true)]
async fn notes_when_a_client_of_another_protocol_took_something() {
    let (mut connection, mut client) = connected(4);
    let progress = connection.progress();
    connection.write_all(b"HTTP").await.unwrap();
    assert_eq!(progress.taken_at(), None);
    progress.hand_over();
    let started = Instant::now();
    let writing = connection.write_all(b"a frame");
    let reading = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        client.read_exact(&mut [0; 11]).await.unwrap();
    };
    let (written, ()) = tokio::join!(writing, reading);
    written.unwrap();
    assert_eq!(progress.taken_at(), Some(started + Duration::from_secs(5)));
}

#[tokio::test(start_paused = true)]
async fn who_is_done_is_not_read_any_more() {
    let (mut connection, mut client) = connected(4);
    client.write_all(b"more").await.unwrap();
    connection.progress().hang_up();
    let mut buffer = [0; 4];
    assert_eq!(connection.read(&mut buffer).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_reads_a_stream_as_it_comes_is_kept() {
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
async fn who_wakes_in_time_finds_all_that_was_written_before_the_end() {
    let (mut connection, mut client) = connected(64);
    let progress = connection.progress();
    let frames = vec![b'x'; 1_000];
    let sending = async {
        progress.part();
        // The dispatcher takes it for closed from now on, whatever the client sends.
        progress.hang_up();
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
async fn what_a_client_sends_after_the_end_is_thrown_away_until_it_closes() {
    let (mut connection, mut client) = connected(4);
    connection.progress().part();
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
async fn a_client_that_never_closes_its_side_is_left_when_its_time_is_up() {
    let (mut connection, mut client) = connected(4);
    connection.progress().part();
    let started = Instant::now();
    let ending = async {
        connection.write_all(b"the last bytes").await.unwrap();
        connection.shutdown().await.unwrap();
        started.elapsed()
    };
    let mut read = Vec::new();
    let (took, _) = tokio::join!(ending, client.read_to_end(&mut read));
    assert_eq!(took.as_secs(), PARTING_DEADLINE.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_awake_and_does_not_close_its_side_is_left_sooner() {
    let (mut connection, mut client) = connected(4);
    connection.progress().part();
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

/// What a first head that does not arrive is answered with, and when.
#[tokio::test(start_paused = true)]
async fn the_first_head_is_due_from_the_beginning() {
    let (mut connection, mut client) = connected(256);
    let started = Instant::now();
    let error = connection.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(started.elapsed().as_secs(), HEAD_DEADLINE.as_secs());
    drop(connection);
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, LATE);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_came_while_nobody_looked_is_not_late() {
    for is_first in [true, false] {
        let (mut connection, mut client) = connected(64);
        let progress = connection.progress();
        let mut buffer = [0; 64];
        if !is_first {
            progress.end();
            client.write_all(b"GET").await.unwrap();
            assert_eq!(connection.read(&mut buffer).await.unwrap(), 3);
        }
        // The first look of all sets the time.
        assert!(connection.read(&mut buffer).now_or_never().is_none());
        tokio::time::advance(HEAD_DEADLINE * 2).await;
        client.write_all(b"the rest").await.unwrap();
        let came = connection.read(&mut buffer).now_or_never();
        assert_eq!(came.unwrap().unwrap(), 8);
        // The dispatcher reads all there is before it parses it.
        assert!(connection.read(&mut buffer).now_or_never().is_none());
        progress.begin(true);
        tokio::time::advance(HEAD_DEADLINE).await;
        assert!(connection.read(&mut buffer).now_or_never().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn who_sends_a_byte_at_the_last_moment_lives_little_longer() {
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
    let most = HEAD_DEADLINE + Duration::from_secs(2);
    assert!((HEAD_DEADLINE..most).contains(&took), "{took:?}");
}

#[tokio::test]
async fn a_refusal_of_the_parser_says_that_the_connection_is_closed() {
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
