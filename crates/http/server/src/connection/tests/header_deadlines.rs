//! Tests of the deadlines of request heads.

use super::*;

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
