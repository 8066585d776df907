//! Signals to the service.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    time::Duration,
};

use scripted_engine::Script;

use crate::{
    chat_client::{ChatClient, key, serving, stream_until_text, text},
    process::{RunningService, folder, service, signal_with_pauses},
};

/// Signals that end a process that does not handle them.
const IGNORED: [&str; 3] = ["HUP", "USR1", "USR2"];

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_outlasts_ignored_signals_and_the_ones_that_stop_the_service() {
    for stopping in ["QUIT", "INT"] {
        let folder = folder();
        let key = key(folder.path());
        let running = serving(folder.path(), &key, None);
        let chat_client = ChatClient::new(&running, &key);
        let conversation_ref = chat_client.conversation_ref().await;
        let script = Script::words(5).pause(Duration::from_millis(200));
        let (stream, _) =
            stream_until_text(chat_client.chat(&conversation_ref.message(&script))).await;
        running.signal(&IGNORED);
        let elsewhere = chat_client.conversation_ref().await;
        let waiting = chat_client.spawn_chat(&elsewhere.message(&script));
        chat_client.turns("turn.started", 2).await;
        running.signal(&[stopping]);
        let reply = stream.end("turn.completed").await;
        assert_eq!(text(&reply["message"]), script.text());
        let (status, reply) = waiting.await.expect("an answer");
        assert_eq!((status, text(&reply["message"])), (200, script.text()));
        let (code, output) = running.wait_for_exit();
        assert_eq!(code, Some(0), "{stopping}: {output}");
        for ignored in IGNORED {
            assert!(
                output.contains(&format!("SIG{ignored} ignored")),
                "{output}"
            );
        }
        assert!(
            output.contains(&format!("\"signal\":\"SIG{stopping}\"")),
            "{output}"
        );
    }
}

#[test]
fn a_second_signal_of_another_kind_aborts() {
    let folder = folder();
    for signals in [["QUIT", "TERM"], ["INT", "QUIT"]] {
        let running = RunningService::start(folder.path(), &[]);
        running.signal(&signals);
        let (code, output) = running.wait_for_exit();
        assert_eq!(code, Some(1), "{output}");
        assert!(output.contains("aborted by a second signal"), "{output}");
    }
}

#[test]
fn one_stop_that_arrives_as_several_signals_aborts_nothing() {
    let folder = folder();
    for signals in [["TERM", "TERM", "TERM"], ["INT", "TERM", "INT"]] {
        let settings = [("SERVER__PORT", "0"), ("SERVER__DRAIN_SECONDS", "1")];
        let running = RunningService::of(service(folder.path(), &["serve"], &settings));
        signal_with_pauses(running.process.id(), &signals, Duration::from_millis(100));
        let (code, output) = running.wait_for_exit();
        assert_eq!(code, Some(0), "{output}");
        assert!(output.contains("shutdown complete"), "{output}");
    }
}

#[test]
fn a_start_outlasts_ignored_signals_and_ends_at_once_when_it_is_stopped() {
    for stopping in ["QUIT", "INT", "TERM"] {
        let folder = folder();
        // A database that accepts connections and never answers.
        let database = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = database.local_addr().expect("its address");
        let url = format!("postgres://agents@{address}/agents");
        let settings = [("SERVER__PORT", "0"), ("DATABASE_URL", &*url)];
        let mut command = service(folder.path(), &["serve"], &settings);
        let mut process = command.spawn().expect("the binary starts");
        let stderr = process.stderr.take().expect("its stderr");
        let running = RunningService { process, url };
        let _connection = database.accept().expect("the start has begun");
        running.signal(&IGNORED);
        let mut lines = BufReader::new(stderr)
            .lines()
            .map(|line| line.expect("UTF-8"));
        for _ in IGNORED {
            let ignored = lines.find(|line| line.contains(" ignored"));
            assert!(ignored.is_some(), "the process has ended");
        }
        running.signal(&[stopping]);
        assert!(lines.any(|line| line.contains("shutdown requested during the start")));
        let mut running = running;
        let status = running.process.wait().expect("an end");
        assert_eq!(status.code(), Some(0));
    }
}
