//! Frames of RFC 6455, valid and invalid, from a raw client.

/// The masking key; a key of zeros would hide a server that does not unmask.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

pub(super) const CONTINUATION: u8 = 0x0;
pub(super) const TEXT: u8 = 0x1;
pub(super) const BINARY: u8 = 0x2;
pub(super) const CLOSE: u8 = 0x8;
pub(super) const PING: u8 = 0x9;
pub(super) const PONG: u8 = 0xa;
const FINAL: u8 = 0x80;

/// A frame with this first byte that ends its message.
pub(super) fn last(opcode: u8, payload: &[u8]) -> Vec<u8> {
    frame(FINAL | opcode, payload)
}

/// A frame whose message continues.
pub(super) fn more(opcode: u8, payload: &[u8]) -> Vec<u8> {
    frame(opcode, payload)
}

/// A last frame with reserved bits: 1 to 7.
pub(super) fn frame_with_reserved_bits(bits: u8, opcode: u8, payload: &[u8]) -> Vec<u8> {
    frame(FINAL | bits << 4 | opcode, payload)
}

/// A message in fragments of this size.
pub(super) fn fragments(message: &[u8], size: usize) -> Vec<Vec<u8>> {
    let count = message.len().div_ceil(size);
    let opcode = |index| if index == 0 { TEXT } else { CONTINUATION };
    let pieces = message.chunks(size).enumerate();
    pieces
        .map(|(index, piece)| {
            let is_last = index + 1 == count;
            let end = if is_last { FINAL } else { 0 };
            frame(end | opcode(index), piece)
        })
        .collect()
}

/// The payload of a close frame.
pub(super) fn reason(code: u16, words: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes(), words].concat()
}

fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = header(first, payload.len() as u64);
    bytes.extend(MASK);
    let masked = payload.iter().zip(MASK.iter().cycle());
    bytes.extend(masked.map(|(byte, mask)| byte ^ mask));
    bytes
}

/// The header of a masked frame up to its masking key, in the shortest form.
pub(super) fn header(first: u8, length: u64) -> Vec<u8> {
    let masked = 0x80;
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ 0..126), _) => vec![first, masked + short],
        (_, Ok(medium)) => [&[first, masked + 126][..], &medium.to_be_bytes()].concat(),
        _ => [&[first, masked + 127][..], &length.to_be_bytes()].concat(),
    }
}

/// The frames of the server.
#[derive(Default)]
pub(super) struct ReceivedFrames(Vec<u8>);

impl ReceivedFrames {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// The next whole frame: its opcode and its payload.
    pub(super) fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let [first, second, ..] = *self.0.as_slice() else {
            return None;
        };
        assert_eq!(first & 0xf0, FINAL, "whole messages, no reserved bits");
        assert_eq!(second & 0x80, 0, "a server masks nothing");
        let (start, length) = match second {
            126 => (
                4,
                u64::from(u16::from_be_bytes(self.0.get(2..4)?.try_into().ok()?)),
            ),
            127 => (10, u64::from_be_bytes(self.0.get(2..10)?.try_into().ok()?)),
            short => (2, u64::from(short)),
        };
        let end = start + usize::try_from(length).expect("a length");
        let payload = self.0.get(start..end)?.to_vec();
        self.0.drain(..end);
        Some((first & 0x0f, payload))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
