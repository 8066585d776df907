use std::{
    io,
    sync::{Arc, Mutex},
};

use super::*;

/// A writer that keeps the log in memory.
#[derive(Clone, Default)]
struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(format: Option<LogFormat>, level: &str, is_terminal: bool) -> String {
    let captured = CapturedLog::default();
    let settings = LogSettings {
        format,
        level: level.to_owned(),
    };
    let writer = captured.clone();
    let subscriber = subscriber(&settings, is_terminal, move || writer.clone()).unwrap();
    tracing::subscriber::with_default(subscriber, || {
        tracing::warn!(route = "/api/agents", "slow");
        tracing::info!("started");
        tracing::warn!(target: "sqlx_core::pool::connection", "of the driver");
    });
    String::from_utf8(captured.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn without_a_terminal_each_line_is_a_json_object() {
    let text = logged(None, "info", false);
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["level"], "WARN");
    assert_eq!(lines[0]["message"], "slow");
    assert_eq!(lines[0]["route"], "/api/agents");
}

#[test]
fn colours_are_for_terminals() {
    let text = logged(Some(LogFormat::Pretty), "info", false);
    assert!(text.contains("slow") && !text.contains('\u{1b}'), "{text}");
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_err());
}

#[test]
fn the_pool_of_the_database_driver_logs_only_if_the_level_names_it() {
    assert!(!logged(None, "info", false).contains("of the driver"));
    let text = logged(None, "info,sqlx_core::pool=warn", false);
    assert!(text.contains("of the driver"), "{text}");
}

#[test]
fn events_below_the_level_are_not_logged() {
    let text = logged(None, "warn", false);
    assert!(text.contains("slow") && !text.contains("started"), "{text}");
}
