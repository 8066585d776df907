//! Tests of the end of a connection.

use super::*;

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
