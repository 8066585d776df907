use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use futures::FutureExt as _;
use tokio::io::{
    AsyncRead as _, AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _, DuplexStream, ReadBuf,
    duplex,
};

use super::{super::Connection, BODY_PORTION_BYTES, PORTION_BYTES};

const ROOM: usize = 64 * 1024;

fn connected() -> (Connection<DuplexStream>, DuplexStream) {
    let (server, client) = duplex(ROOM);
    (Connection::new(server), client)
}

/// Returns the bytes that can be read without waiting.
fn portion_bytes(connection: &mut Connection<DuplexStream>) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 8 * PORTION_BYTES];
    let read = connection.read(&mut buffer).now_or_never()?;
    Some(buffer[..read.unwrap()].to_vec())
}

#[tokio::test]
async fn a_portion_is_parsed_before_more_is_read() {
    let (mut connection, mut client) = connected();
    client
        .write_all(&vec![b'x'; 2 * PORTION_BYTES + 10])
        .await
        .unwrap();
    for portion in [PORTION_BYTES, PORTION_BYTES, 10] {
        assert_eq!(
            portion_bytes(&mut connection).map(|it| it.len()),
            Some(portion)
        );
        assert_eq!(portion_bytes(&mut connection), None);
    }
}

#[tokio::test]
async fn the_reader_is_woken_for_each_portion() {
    let (mut connection, mut client) = connected();
    client
        .write_all(&vec![b'x'; 20 * PORTION_BYTES + 10])
        .await
        .unwrap();
    let mut all = vec![0; 20 * PORTION_BYTES + 10];
    let reading = connection.read_exact(&mut all);
    let read = tokio::time::timeout(Duration::from_secs(10), reading).await;
    read.expect("it is woken").unwrap();
    assert!(all.iter().all(|byte| *byte == b'x'));
}

#[tokio::test]
async fn nothing_is_read_while_a_request_is_processed() {
    let (mut connection, mut client) = connected();
    let state = connection.state();
    state.begin_request(false);
    client.write_all(b"GET /").await.unwrap();
    assert_eq!(portion_bytes(&mut connection), None);
    let mut buffer = [0; 5];
    let serving = async {
        tokio::task::yield_now().await;
        state.end_request();
    };
    // A paused reader is woken.
    let (read, ()) = tokio::join!(connection.read_exact(&mut buffer), serving);
    read.unwrap();
    assert_eq!(&buffer, b"GET /");
}

#[tokio::test]
async fn a_body_is_read_until_it_is_complete() {
    let (mut connection, mut client) = connected();
    let state = connection.state();
    state.begin_request(true);
    client.write_all(b"body").await.unwrap();
    assert_eq!(
        portion_bytes(&mut connection).as_deref(),
        Some(&b"body"[..])
    );
    state.body_received();
    client.write_all(b"GET /").await.unwrap();
    assert_eq!(portion_bytes(&mut connection), None);
}

#[tokio::test]
async fn a_body_of_known_length_is_read_in_larger_portions() {
    const LENGTH: usize = BODY_PORTION_BYTES + PORTION_BYTES + 100;
    let (mut connection, mut client) = connected();
    let state = connection.state();
    let read = |connection: &mut _| {
        let read = portion_bytes(connection).map(|it| it.len());
        assert_eq!(portion_bytes(connection), None, "it is parsed before more");
        read
    };
    for _ in 0..2 {
        state.begin_request(true);
        state.declare_body(LENGTH as u64);
        client.write_all(&[b'x'; 2 * LENGTH]).await.unwrap();
        assert_eq!(read(&mut connection), Some(BODY_PORTION_BYTES));
        assert_eq!(read(&mut connection), Some(PORTION_BYTES + 100));
        // Heads may follow.
        assert_eq!(read(&mut connection), Some(PORTION_BYTES));
        let rest = LENGTH - PORTION_BYTES;
        state.end_request();
        connection.read_exact(&mut vec![0; rest]).await.unwrap();
        assert_eq!(portion_bytes(&mut connection), None);
    }
    // The length is that of one request.
    state.begin_request(true);
    state.declare_body(LENGTH as u64);
    state.begin_request(true);
    client.write_all(&[b'x'; LENGTH]).await.unwrap();
    assert_eq!(read(&mut connection), Some(PORTION_BYTES));
}

#[tokio::test]
async fn the_close_of_the_client_is_detected_while_a_request_is_processed() {
    let (mut connection, mut client) = connected();
    let state = connection.state();
    state.begin_request(false);
    let left = state.client_closed();
    client.shutdown().await.unwrap();
    assert_eq!(portion_bytes(&mut connection).as_deref(), Some(&b""[..]));
    assert_eq!(left.now_or_never(), Some(()));
}

#[tokio::test]
async fn a_client_that_does_not_read_its_response_is_not_read() {
    let (mut connection, mut client) = connected();
    let state = connection.state();
    state.begin_request(false);
    state.end_request();
    let response = vec![b'x'; 2 * ROOM];
    assert!(connection.write_all(&response).now_or_never().is_none());
    client.write_all(b"GET /").await.unwrap();
    assert_eq!(portion_bytes(&mut connection), None);
    let mut bytes_taken = vec![0; ROOM];
    client.read_exact(&mut bytes_taken).await.unwrap();
    connection.flush().await.unwrap();
    let mut next = [0; 5];
    connection.read_exact(&mut next).await.unwrap();
    assert_eq!(&next, b"GET /");
}

#[tokio::test]
async fn another_protocol_receives_everything_available() {
    let (mut connection, mut client) = connected();
    let state = connection.state();
    state.begin_request(true);
    state.switch_protocol();
    client
        .write_all(&vec![b'x'; 4 * PORTION_BYTES])
        .await
        .unwrap();
    assert_eq!(
        portion_bytes(&mut connection).map(|it| it.len()),
        Some(4 * PORTION_BYTES)
    );
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_paused_reader_is_not_woken_before_the_response() {
    let (mut connection, mut client) = connected();
    let state = connection.state();
    state.begin_request(false);
    client.write_all(b"G").await.unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut bytes = [0; 8];
    for _ in 0..3 {
        // As the library does each time.
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = Pin::new(&mut connection).poll_read(&mut context, &mut buffer);
        assert!(read.is_pending());
        let flushed = Pin::new(&mut connection).poll_flush(&mut context);
        assert!(matches!(flushed, Poll::Ready(Ok(()))));
    }
    assert_eq!(woken.0.load(Ordering::Relaxed), 0);
    state.end_request();
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
}
