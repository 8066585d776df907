//! The log of this crate.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use serde_json::json;

use crate::fixture::Fixture;

/// Everything that is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no test panicked").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_standard_error_of_a_process_is_counted_and_not_logged() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter("mcp_tools=trace")
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let server = Fixture::scripted("well").wait_until_connected().await;
    let secret = json!({ "password": "tenant-secret" });
    server.call("complain", secret).await.expect("a result");
    server.stop().await;
    let bytes = log.0.lock().expect("no test panicked").clone();
    let text = String::from_utf8(bytes).expect("text");
    assert!(text.contains("wrote to its standard error"), "{text}");
    assert!(!text.contains("tenant-secret"), "{text}");
}
