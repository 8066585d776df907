use std::sync::{
    atomic::{AtomicUsize, Ordering::SeqCst},
    mpsc,
};

use tokio::{runtime::Builder, task::JoinSet};

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
        for _ in 0..100 {
            waiting.spawn(look_up());
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
