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
    let reading = connection.read_exact(&mut all);
    let read = tokio::time::timeout(Duration::from_secs(10), reading).await;
    read.expect("it is woken").unwrap();
    assert!(all.iter().all(|byte| *byte == b'x'));
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

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn who_was_put_off_is_not_woken_before_the_answer_is_there() {
    let (mut connection, mut client) = connected();
    let progress = connection.progress();
    progress.begin(false);
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
    progress.end();
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
}
