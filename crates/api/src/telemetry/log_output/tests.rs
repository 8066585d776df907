use super::*;
use crate::telemetry::metrics::recorder;

/// A writer that fails when `room` bytes are written, like a full disk.
#[derive(Default)]
struct SmallDisk {
    written: Vec<u8>,
    room: usize,
}

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(self.room);
        if length == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.room -= length;
        self.written.extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_that_cannot_be_written_are_counted_and_the_next_one_begins_on_a_new_line() {
    let recorder = recorder().unwrap();
    let counted = |count| {
        let metrics = recorder.handle().render();
        let line = format!("log_lines_dropped {count}\n");
        assert!(metrics.contains(&line), "{metrics}");
    };
    counted(0);
    let dropped = metrics::with_local_recorder(&recorder, || metrics::counter!(LOG_LINES_DROPPED));
    let mut output = LogOutput::new(SmallDisk::default(), dropped);
    output.target.room = 8;
    assert_eq!(output.write(b"whole\ntorn\nwithout room\n"), 2);
    assert!(!output.is_writable());
    counted(2);
    assert_eq!(output.write(b"without room\n"), 1);
    counted(3);
    output.target.room = 1_000;
    assert_eq!(output.write(b"whole again\nthe next\n"), 0);
    assert!(output.is_writable());
    counted(3);
    let text = String::from_utf8(output.target.written).unwrap();
    assert_eq!(text, "whole\nto\nwhole again\nthe next\n");
}

#[test]
fn a_line_is_written_in_as_many_parts_as_the_target_takes() {
    /// Takes a byte every second time, and has no room for more before.
    #[derive(Default)]
    struct Hesitant {
        written: Vec<u8>,
        attempts: usize,
    }

    impl Write for Hesitant {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.attempts += 1;
            match self.attempts % 4 {
                1 => Err(io::ErrorKind::Interrupted.into()),
                3 => Err(io::ErrorKind::WouldBlock.into()),
                _ => self.written.write(&bytes[..1]),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut output = LogOutput::new(Hesitant::default(), Counter::noop());
    assert_eq!(output.write(b"one\ntwo\n"), 0);
    assert_eq!(output.target.written, b"one\ntwo\n");
}
