//! The headers of WebSocket frames (RFC 6455, section 5.2), followed without keeping anything of
//! what stands between them.

/// The largest payload of one frame.
pub const FRAME_BYTES: u64 = 64 * 1024;
/// The largest message: the payloads of all its fragments together.
pub const MESSAGE_BYTES: u64 = 256 * 1024;

const OPCODE: u8 = 0x0f;
const CONTINUATION: u8 = 0x0;
/// Opcodes from here on are pings, pongs and closes; they may stand between fragments.
const FIRST_CONTROL: u8 = 0x8;
const MASKED: u8 = 0x80;
const MASK_BYTES: u64 = 4;

/// What the next byte of a header belongs to.
#[derive(Debug)]
enum Field {
    Opcode,
    Length,
    ExtendedLength { left: u8 },
}

/// Where in the client's frames the bytes so far have led.
#[derive(Debug)]
pub(crate) struct FrameHeaders {
    /// What is still to come of the masking key and the payload before the next header.
    content: u64,
    field: Field,
    opcode: u8,
    masked: bool,
    length: u64,
    /// What the fragments of the message in progress have declared so far.
    message: u64,
}

impl FrameHeaders {
    pub(crate) const fn new() -> Self {
        Self {
            content: 0,
            field: Field::Opcode,
            opcode: CONTINUATION,
            masked: false,
            length: 0,
            message: 0,
        }
    }

    /// Goes on through `bytes`. Where a header declares more than may come, it stops and tells the
    /// place of the last byte of that header's length; after that there is nothing to go on to.
    pub(crate) fn excess_in(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut place = 0;
        while let Some(byte) = bytes.get(place) {
            if self.content > 0 {
                place += self.skip(bytes.len() - place);
            } else if self.declares_too_much(*byte) {
                return Some(place);
            } else {
                place += 1;
            }
        }
        None
    }

    fn skip(&mut self, most: usize) -> usize {
        let skipped = self.content.min(most as u64);
        self.content -= skipped;
        usize::try_from(skipped).unwrap_or(most)
    }

    /// Takes one byte of a header; `true` when it is the last of a length that is too much.
    fn declares_too_much(&mut self, byte: u8) -> bool {
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
                        return self.ends_too_large();
                    }
                }
            }
            Field::ExtendedLength { left } => {
                self.length = self.length << 8 | u64::from(byte);
                self.field = Field::ExtendedLength { left: left - 1 };
                if left == 1 {
                    return self.ends_too_large();
                }
            }
        }
        false
    }

    /// Goes on behind the length, which is now known, unless it is too much.
    fn ends_too_large(&mut self) -> bool {
        if self.length > FRAME_BYTES {
            return true;
        }
        if self.opcode == CONTINUATION {
            self.message += self.length;
        } else if self.opcode < FIRST_CONTROL {
            self.message = self.length;
        }
        self.content = self.length + if self.masked { MASK_BYTES } else { 0 };
        self.field = Field::Opcode;
        self.message > MESSAGE_BYTES
    }
}
