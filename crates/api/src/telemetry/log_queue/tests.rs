use std::sync::mpsc;

use super::*;
use crate::telemetry::metrics::recorder;

/// A writer that waits before each write until the test lets it go on.
struct Gated {
    gate: mpsc::Receiver<()>,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Write for Gated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Open as soon as the test has dropped the other end.
        let _ = self.gate.recv();
        self.written.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn no_thread_waits_for_a_log_that_is_not_read_and_lines_without_room_are_counted() {
    let (open, gate) = mpsc::channel();
    let written = Arc::new(Mutex::default());
    let recorder = recorder().unwrap();
    let target = Gated {
        gate,
        written: Arc::clone(&written),
    };
    let queue = metrics::with_local_recorder(&recorder, || LogQueue::start(target).unwrap());
    let line = [&[b'x'; 1_023][..], b"\n"].concat();
    // The thread may take some lines before it waits.
    let sent = 3 * MAX_QUEUED_BYTES / line.len();
    for _ in 0..sent {
        (&queue).write_all(&line).unwrap();
    }
    queue.wait_until_written(Duration::from_millis(1));
    assert!(written.lock().is_empty());

    drop(open);
    queue.wait_until_written(Duration::from_mins(1));
    let written = written.lock();
    assert!(written.chunks(line.len()).all(|it| it == line));
    let dropped = sent - written.len() / line.len();
    assert!(dropped >= sent / 3, "{dropped}");
    let metrics = recorder.handle().render();
    assert!(
        metrics.contains(&format!("log_lines_dropped {dropped}\n")),
        "{metrics}"
    );
}

/// A writer of a queue that other threads have filled to the last byte when each of some writes ends.
struct Overloaded {
    queue: LogQueue,
    writes: usize,
    written: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Write for Overloaded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.lock().push(bytes.to_vec());
        if self.written.lock().len() <= self.writes {
            for line in [&[b'\n'; 1_024][..], b"\n"] {
                let dropped = self.queue.0.state.lock().dropped;
                while self.queue.0.state.lock().dropped == dropped {
                    self.queue.push(line);
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lost_lines_are_reported_while_lines_are_still_being_lost() {
    let queue = LogQueue::new(Counter::noop());
    let written = Arc::new(Mutex::default());
    let target = Overloaded {
        queue: queue.clone(),
        writes: 4,
        written: Arc::clone(&written),
    };
    queue.push(b"first\n");
    let writing = queue.clone();
    thread::spawn(move || {
        let log = tracing_subscriber::fmt().with_writer(writing.clone());
        let output = LogOutput::new(target, Counter::noop());
        tracing::subscriber::with_default(log.finish(), || writing.write_to(output));
    });
    queue.wait_until_written(Duration::from_mins(1));
    let written = written.lock();
    let reports = |batch: &Vec<u8>| String::from_utf8_lossy(batch).matches("were lost").count();
    let reports: Vec<_> = written.iter().map(reports).collect();
    assert_eq!(reports, [0, 0, 1, 1, 1, 1]);
}
