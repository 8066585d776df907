use std::{
    sync::{
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};

use tokio::{net::TcpListener, runtime::Builder, task::JoinSet};

use super::*;

/// The address that a look-up finds when it is called for the `number`th time.
fn found(number: usize) -> Vec<SocketAddr> {
    vec![SocketAddr::from((
        [127, 0, 0, 1],
        u16::try_from(number).expect("few"),
    ))]
}

#[test]
fn many_callers_of_a_name_share_one_look_up_and_other_names_do_not_wait() {
    static RUNNING: Running = Mutex::new(BTreeMap::new());
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(2)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (answer, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let look_up = || {
            let gate = Arc::clone(&gate);
            shared(&RUNNING, "slow", move |_| {
                let number = CALLS.fetch_add(1, SeqCst);
                // It ends when the test has dropped the other end.
                let _ = gate.lock().recv();
                Ok(found(number))
            })
        };
        let mut waiting = JoinSet::new();
        let called = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let (called, look_up) = (Arc::clone(&called), look_up());
            waiting.spawn(async move {
                called.fetch_add(1, SeqCst);
                look_up.await
            });
        }
        while called.load(SeqCst) < 100 {
            tokio::task::yield_now().await;
        }
        // One that gives up, which starts no other.
        tokio::select! {
            biased;
            _ = look_up() => panic!("it waits"),
            () = async { tokio::task::yield_now().await } => {}
        }
        let other = shared(&RUNNING, "other", |name| Ok(vec![found(name.len())[0]])).await;
        assert_eq!(other.expect("its address"), found(5));
        drop(answer);
        for outcome in waiting.join_all().await {
            assert_eq!(outcome.expect("the address"), found(0));
        }
        assert_eq!(
            look_up().await.expect("the address"),
            found(1),
            "nothing is kept"
        );
    });
    assert!(RUNNING.lock().is_empty());
}

#[test]
fn a_look_up_counts_toward_the_limit_until_it_ends_even_if_its_caller_has_left() {
    static RUNNING: Running = Mutex::new(BTreeMap::new());
    static LIMIT: Semaphore = Semaphore::const_new(1);
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let (answer, gate) = mpsc::channel::<()>();
        let slow = limited(&LIMIT, &RUNNING, "slow", move |_| {
            // It ends when the test has dropped the other end.
            let _ = gate.recv();
            Ok(found(1))
        });
        tokio::select! {
            biased;
            _ = slow => panic!("it waits"),
            () = async { tokio::task::yield_now().await } => {}
        }
        let other = limited(&LIMIT, &RUNNING, "other", |_| Ok(found(2)));
        tokio::pin!(other);
        tokio::select! {
            biased;
            _ = &mut other => panic!("it waits"),
            () = async { tokio::task::yield_now().await } => {}
        }
        assert!(!RUNNING.lock().contains_key("other"));
        drop(answer);
        assert_eq!(other.await.expect("its address"), found(2));
    });
}

#[tokio::test]
async fn clients_share_the_running_look_up_of_a_name() {
    let name = "shared.example";
    let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = server.local_addr().expect("its address").port();
    let (_sender, outcome) = watch::channel(Some(Ok(found(1))));
    RUNNING.lock().insert(name.to_owned(), outcome);
    let client = crate::builder(Duration::from_secs(5)).build();
    let request = client
        .expect("a client")
        .get(format!("http://{name}:{port}/"));
    tokio::select! {
        outcome = request.send() => panic!("{outcome:?}"),
        accepted = server.accept() => {
            accepted.expect("a connection");
        }
    }
    RUNNING.lock().remove(name);
}

#[tokio::test]
async fn an_error_is_that_of_the_system() {
    let error = look_up("invalid\0name").await.expect_err("no address");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(
        look_up("localhost")
            .await
            .expect("addresses")
            .iter()
            .all(|it| it.ip().is_loopback())
    );
}
