use super::*;

/// A program that neither reads nor ends.
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
async fn closing_waits_twice_however_long_the_input_is_held_up() {
    let (mut transport, _log) = stubborn().start().expect("a shell");
    let ready = transport.line().await;
    assert!(matches!(ready, Ok(Some(Line::Whole(_)))), "it does not run");
    let input = Arc::clone(&transport.input);
    let _writing = input.lock().await;
    let begun = Instant::now();
    transport.close().await.expect("it is killed");
    let took = begun.elapsed();
    assert!((2 * PATIENCE..3 * PATIENCE).contains(&took), "{took:?}");
}
