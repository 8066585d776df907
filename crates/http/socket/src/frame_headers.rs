//! A parser for the headers of WebSocket frames (RFC 6455, section 5.2) that stores no payload.

/// The maximum payload size of one frame, in bytes.
pub const MAX_FRAME_BYTES: u64 = 64 * 1024;
/// The maximum size of a message, in bytes: the payloads of all its fragments together.
pub const MAX_MESSAGE_BYTES: u64 = 256 * 1024;

const OPCODE: u8 = 0x0f;
const CONTINUATION: u8 = 0x0;
/// The first control opcode (close, ping, pong). Control frames may occur between fragments.
const FIRST_CONTROL_OPCODE: u8 = 0x8;
const MASKED: u8 = 0x80;
const MASK_BYTES: u64 = 4;

/// The field that the next header byte belongs to.
#[derive(Debug)]
enum Field {
    Opcode,
    Length,
    ExtendedLength { left: u8 },
}

/// The parser's position in a client's frames.
#[derive(Debug)]
pub(crate) struct FrameHeaderParser {
    /// The remaining bytes of the masking key and the payload before the next header.
    remaining: u64,
    field: Field,
    opcode: u8,
    masked: bool,
    length: u64,
    /// The declared sizes of the current message's fragments so far.
    message_bytes: u64,
}

impl FrameHeaderParser {
    pub(crate) const fn new() -> Self {
        Self {
            remaining: 0,
            field: Field::Opcode,
            opcode: CONTINUATION,
            masked: false,
            length: 0,
            message_bytes: 0,
        }
    }

    /// Parses `bytes`. If a header declares an oversized frame or message, returns the index of the
    /// last byte of its length field; parsing cannot continue after that.
    pub(crate) fn find_excess(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut index = 0;
        while let Some(byte) = bytes.get(index) {
            if self.remaining > 0 {
                index += self.skip(bytes.len() - index);
            } else if self.declares_excess(*byte) {
                return Some(index);
            } else {
                index += 1;
            }
        }
        None
    }

    fn skip(&mut self, max: usize) -> usize {
        let skipped = self.remaining.min(max as u64);
        self.remaining -= skipped;
        usize::try_from(skipped).unwrap_or(max)
    }

    /// Parses one header byte. Returns whether it completes the length of an oversized frame or
    /// message.
    fn declares_excess(&mut self, byte: u8) -> bool {
        match self.field {
            Field::Opcode => {
                self.opcode = byte & OPCODE;
                self.field = Field::Length;
            }
            Field::Length => {
                self.masked = byte & MASKED != 0;
                self.length = 0;
                match byte & !MASKED {
                    126 => self.field = Field::ExtendedLength { left: 2 },
                    127 => self.field = Field::ExtendedLength { left: 8 },
                    length => {
                        self.length = u64::from(length);
                        return self.start_payload();
                    }
                }
            }
            Field::ExtendedLength { left } => {
                self.length = self.length << 8 | u64::from(byte);
                self.field = Field::ExtendedLength { left: left - 1 };
                if left == 1 {
                    return self.start_payload();
                }
            }
        }
        false
    }

    /// Starts the payload of the frame whose length is now known. Returns whether the frame or its
    /// message is oversized.
    fn start_payload(&mut self) -> bool {
        if self.length > MAX_FRAME_BYTES {
            return true;
        }
        if self.opcode == CONTINUATION {
            self.message_bytes += self.length;
        } else if self.opcode < FIRST_CONTROL_OPCODE {
            self.message_bytes = self.length;
        }
        self.remaining = self.length + if self.masked { MASK_BYTES } else { 0 };
        self.field = Field::Opcode;
        self.message_bytes > MAX_MESSAGE_BYTES
    }
}
