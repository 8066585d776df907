//! Tests of the announcement that an HTTP/2 connection ends.

use super::*;

/// GOAWAY without an error, for the highest stream id.
const GO_AWAY: &[u8] = b"\0\0\x08\x07\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0";
/// SETTINGS without any.
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
/// DATA of five bytes.
const DATA: &[u8] = b"\0\0\x05\0\x01\0\0\0\x01Hello";

fn shared(buffer: usize) -> (Connection<DuplexStream>, DuplexStream, CancellationToken) {
    let (server, client) = duplex(buffer);
    let closing = CancellationToken::new();
    (Connection::shared(server, closing.clone()), client, closing)
}

/// Polls the connection as the library does while it waits for frames.
fn wait_for_frames(connection: &mut Connection<DuplexStream>) {
    let mut buffer = [0; 64];
    assert!(connection.read(&mut buffer).now_or_never().is_none());
}

async fn received(client: &mut DuplexStream, bytes: &[u8]) {
    let mut buffer = vec![0; bytes.len()];
    client.read_exact(&mut buffer).await.unwrap();
    assert_eq!(buffer, bytes);
}

fn receives_nothing(client: &mut DuplexStream) {
    assert!(client.read(&mut [0; 1]).now_or_never().is_none());
}

#[tokio::test]
async fn an_idle_connection_receives_it_once() {
    let (mut connection, mut client, closing) = shared(64);
    connection.write_all(SETTINGS).await.unwrap();
    received(&mut client, SETTINGS).await;
    wait_for_frames(&mut connection);
    receives_nothing(&mut client);
    closing.cancel();
    wait_for_frames(&mut connection);
    received(&mut client, GO_AWAY).await;
    wait_for_frames(&mut connection);
    connection.write_all(DATA).await.unwrap();
    received(&mut client, DATA).await;
    receives_nothing(&mut client);
}

#[tokio::test]
async fn the_task_of_an_idle_connection_is_woken() {
    let (mut connection, mut client, closing) = shared(64);
    connection.write_all(SETTINGS).await.unwrap();
    received(&mut client, SETTINGS).await;
    let reading = async { connection.read(&mut [0; 8]).await.unwrap() };
    let ending = async {
        tokio::task::yield_now().await;
        closing.cancel();
        received(&mut client, GO_AWAY).await;
        client.shutdown().await.unwrap();
    };
    assert_eq!(tokio::join!(reading, ending), (0, ()));
}

#[tokio::test]
async fn the_first_frame_is_that_of_the_library() {
    let (mut connection, mut client, closing) = shared(64);
    closing.cancel();
    wait_for_frames(&mut connection);
    receives_nothing(&mut client);
    connection.write_all(SETTINGS).await.unwrap();
    wait_for_frames(&mut connection);
    received(&mut client, SETTINGS).await;
    received(&mut client, GO_AWAY).await;
}

#[tokio::test]
async fn a_frame_that_is_being_written_is_completed_first() {
    for split in 1..DATA.len() {
        let (mut connection, mut client, closing) = shared(64);
        connection.write_all(SETTINGS).await.unwrap();
        connection.write_all(&DATA[..split]).await.unwrap();
        closing.cancel();
        wait_for_frames(&mut connection);
        connection.write_all(&DATA[split..]).await.unwrap();
        connection.write_all(SETTINGS).await.unwrap();
        received(&mut client, SETTINGS).await;
        received(&mut client, DATA).await;
        received(&mut client, GO_AWAY).await;
        received(&mut client, SETTINGS).await;
    }
}

#[tokio::test]
async fn the_frames_of_one_message_s_headers_are_not_separated() {
    let headers = b"\0\0\x01\x01\0\0\0\0\x01a";
    let last = b"\0\0\x01\x09\x04\0\0\0\x01b";
    let (mut connection, mut client, closing) = shared(64);
    connection.write_all(SETTINGS).await.unwrap();
    connection.write_all(headers).await.unwrap();
    closing.cancel();
    wait_for_frames(&mut connection);
    connection.write_all(last).await.unwrap();
    wait_for_frames(&mut connection);
    for frame in [SETTINGS, headers, last, GO_AWAY] {
        received(&mut client, frame).await;
    }
}

#[tokio::test]
async fn other_frames_wait_until_the_client_has_accepted_it() {
    let (mut connection, mut client, closing) = shared(4);
    let writing = async {
        connection.write_all(SETTINGS).await.unwrap();
        closing.cancel();
        connection.write_all(DATA).await.unwrap();
    };
    let reading = async {
        received(&mut client, SETTINGS).await;
        received(&mut client, GO_AWAY).await;
        received(&mut client, DATA).await;
    };
    tokio::join!(writing, reading);
}
