use futures::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use super::{super::Connection, PORTION};

const ROOM: usize = 64 * 1024;

fn connected() -> (Connection<DuplexStream>, DuplexStream) {
    let (server, client) = duplex(ROOM);
    (Connection::new(server), client)
}

/// What is given without waiting.
fn given(connection: &mut Connection<DuplexStream>) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 8 * PORTION];
    let read = connection.read(&mut buffer).now_or_never()?;
    Some(buffer[..read.unwrap()].to_vec())
}

#[tokio::test]
async fn what_was_given_is_looked_at_before_more_is_given() {
    let (mut connection, mut client) = connected();
    client
        .write_all(&vec![b'x'; 2 * PORTION + 10])
        .await
        .unwrap();
    for portion in [PORTION, PORTION, 10] {
        assert_eq!(given(&mut connection).map(|it| it.len()), Some(portion));
        assert_eq!(given(&mut connection), None);
    }
}

#[tokio::test]
async fn whoever_wants_all_is_woken_for_each_portion() {
    let (mut connection, mut client) = connected();
    client
        .write_all(&vec![b'x'; 20 * PORTION + 10])
        .await
        .unwrap();
    let mut all = vec![0; 20 * PORTION + 10];
    connection.read_exact(&mut all).await.unwrap();
}

#[tokio::test]
async fn while_a_request_is_served_nothing_is_given() {
    let (mut connection, mut client) = connected();
    let progress = connection.progress();
    progress.begin(false);
    client.write_all(b"GET /").await.unwrap();
    assert_eq!(given(&mut connection), None);
    let mut buffer = [0; 5];
    let serving = async {
        tokio::task::yield_now().await;
        progress.end();
    };
    // Whoever was put off is woken.
    let (read, ()) = tokio::join!(connection.read_exact(&mut buffer), serving);
    read.unwrap();
    assert_eq!(&buffer, b"GET /");
}

#[tokio::test]
async fn a_body_is_given_until_it_is_whole() {
    let (mut connection, mut client) = connected();
    let progress = connection.progress();
    progress.begin(true);
    client.write_all(b"body").await.unwrap();
    assert_eq!(given(&mut connection).as_deref(), Some(&b"body"[..]));
    progress.receive();
    client.write_all(b"GET /").await.unwrap();
    assert_eq!(given(&mut connection), None);
}

#[tokio::test]
async fn the_end_is_found_while_a_request_is_served() {
    let (mut connection, mut client) = connected();
    let progress = connection.progress();
    progress.begin(false);
    let left = progress.left();
    client.shutdown().await.unwrap();
    assert_eq!(given(&mut connection).as_deref(), Some(&b""[..]));
    assert_eq!(left.now_or_never(), Some(()));
}

#[tokio::test]
async fn who_does_not_take_an_answer_is_asked_for_nothing_more() {
    let (mut connection, mut client) = connected();
    let progress = connection.progress();
    progress.begin(false);
    progress.end();
    let answer = vec![b'x'; 2 * ROOM];
    assert!(connection.write_all(&answer).now_or_never().is_none());
    client.write_all(b"GET /").await.unwrap();
    assert_eq!(given(&mut connection), None);
    let mut taken = vec![0; ROOM];
    client.read_exact(&mut taken).await.unwrap();
    connection.flush().await.unwrap();
    let mut next = [0; 5];
    connection.read_exact(&mut next).await.unwrap();
    assert_eq!(&next, b"GET /");
}

#[tokio::test]
async fn another_protocol_is_given_all_there_is() {
    let (mut connection, mut client) = connected();
    let progress = connection.progress();
    progress.begin(true);
    progress.hand_over();
    client.write_all(&vec![b'x'; 4 * PORTION]).await.unwrap();
    assert_eq!(given(&mut connection).map(|it| it.len()), Some(4 * PORTION));
}
