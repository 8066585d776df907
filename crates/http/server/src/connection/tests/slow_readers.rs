//! Tests of clients that do not read their responses, or read them slowly.

use super::*;

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
