use super::*;

/// A program that neither reads its input nor exits on SIGTERM.
fn stubborn() -> Program {
    Program {
        command: "sh".to_owned(),
        arguments: vec![
            "-c".to_owned(),
            "trap '' TERM; echo ready; while :; do sleep 60; done".to_owned(),
        ],
        environment: BTreeMap::new(),
    }
}

#[tokio::test]
async fn closing_is_bounded_while_the_input_is_blocked() {
    let (mut transport, _log) = stubborn().start().expect("a shell");
    let ready = transport.next_line().await;
    assert!(matches!(ready, Ok(Some(Line::Whole(_)))), "it does not run");
    let input = Arc::clone(&transport.input);
    let _writing = input.lock().await;
    let started = Instant::now();
    transport.close().await.expect("it is killed");
    let elapsed = started.elapsed();
    assert!(
        (2 * EXIT_TIMEOUT..3 * EXIT_TIMEOUT).contains(&elapsed),
        "{elapsed:?}"
    );
}
