use std::{
    io,
    sync::{Arc, Mutex},
};

use super::*;
use crate::telemetry::metrics::recorder;

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

/// A writer that fails when `room` bytes are written, like a full disk.
#[derive(Clone)]
struct SmallDisk {
    captured: CapturedLog,
    room: Arc<Mutex<usize>>,
}

impl io::Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut room = self.room.lock().unwrap();
        let length = bytes.len().min(*room);
        if length == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        *room -= length;
        self.captured.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_that_cannot_be_written_are_counted_and_the_next_one_begins_on_a_new_line() {
    let room = Arc::new(Mutex::new(20));
    let disk = SmallDisk {
        captured: CapturedLog::default(),
        room: Arc::clone(&room),
    };
    let settings = LogSettings {
        format: Some(LogFormat::Json),
        level: "info".to_owned(),
    };
    let writer = disk.clone();
    let subscriber = subscriber(&settings, false, move || writer.clone()).unwrap();
    let recorder = recorder().unwrap();
    let dropped = |count| format!("log_lines_dropped {count}\n");
    assert!(recorder.handle().render().contains(&dropped(0)));
    ::metrics::with_local_recorder(&recorder, || {
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("torn");
            tracing::info!("without room");
            *room.lock().unwrap() = 10_000;
            tracing::info!("whole");
            tracing::info!("whole");
        });
    });
    let metrics = recorder.handle().render();
    assert!(metrics.contains(&dropped(2)), "{metrics}");
    let text = String::from_utf8(disk.captured.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for whole in &lines[1..] {
        let line: serde_json::Value = serde_json::from_str(whole).unwrap();
        assert_eq!(line["message"], "whole");
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
fn events_below_the_level_are_not_logged() {
    let text = logged(None, "warn", false);
    assert!(text.contains("slow") && !text.contains("started"), "{text}");
}
