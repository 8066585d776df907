//! The signals in the stream of a server.

use super::redis_values::{first_value, is_message};

/// Bytes of the type and the length of a message of Postgres.
const HEAD_BYTES: usize = 5;
/// The type of a notification.
const NOTIFICATION: u8 = b'A';
/// The whole response to a client that asks for TLS, if the server has none.
const NO_TLS: u8 = b'N';

/// The protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Postgres,
    Redis,
}

impl Protocol {
    /// Returns the length of the first message in bytes, once it is complete.
    fn first_message(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Postgres => {
                let length = bytes.get(1..HEAD_BYTES)?.try_into().ok()?;
                // The length includes itself, but not the type.
                let length = usize::try_from(u32::from_be_bytes(length)).ok()? + 1;
                (length <= bytes.len()).then_some(length)
            }
            Self::Redis => first_value(bytes),
        }
    }

    fn is_signal(self, message: &[u8]) -> bool {
        match self {
            Self::Postgres => message.first() == Some(&NOTIFICATION),
            Self::Redis => is_message(message),
        }
    }
}

/// The stream of a server, whose signals can be repeated in another order.
pub(super) struct ServerStream {
    protocol: Protocol,
    has_started: bool,
    /// The beginning of a message.
    incomplete: Vec<u8>,
    /// A signal that comes after the next one.
    held: Option<Vec<u8>>,
}

impl ServerStream {
    pub(super) const fn new(protocol: Protocol) -> Self {
        Self {
            protocol,
            has_started: false,
            incomplete: Vec::new(),
            held: None,
        }
    }

    /// Takes the next bytes of the server, and returns those that the client is to receive. With
    /// `shuffled`, two signals a, b become b, a, b.
    pub(super) fn pass(&mut self, bytes: &[u8], shuffled: bool) -> Vec<u8> {
        let mut passed = Vec::with_capacity(bytes.len());
        self.incomplete.extend_from_slice(bytes);
        let is_first = !std::mem::replace(&mut self.has_started, true);
        if is_first && self.protocol == Protocol::Postgres && bytes.starts_with(&[NO_TLS]) {
            passed.push(self.incomplete.remove(0));
        }
        if !shuffled {
            passed.extend(self.held.take().unwrap_or_default());
        }
        while let Some(length) = self.protocol.first_message(&self.incomplete) {
            let message: Vec<u8> = self.incomplete.drain(..length).collect();
            if !shuffled || !self.protocol.is_signal(&message) {
                passed.extend(message);
            } else if let Some(held) = self.held.take() {
                passed.extend_from_slice(&message);
                passed.extend(held);
                passed.extend(message);
            } else {
                self.held = Some(message);
            }
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_postgres(kind: u8, text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len() + 4).unwrap();
        [&[kind], length.to_be_bytes().as_slice(), text.as_bytes()].concat()
    }

    fn of_redis(text: &str) -> Vec<u8> {
        let length = text.len();
        format!(">3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n${length}\r\n{text}\r\n").into_bytes()
    }

    fn is_shuffled(mut stream: ServerStream, [a, b, other]: [Vec<u8>; 3]) {
        assert_eq!(
            stream.pass(&[a.clone(), other.clone()].concat(), true),
            other
        );
        let (begin, end) = b.split_at(3);
        assert!(stream.pass(begin, true).is_empty());
        assert_eq!(
            stream.pass(end, true),
            [b.clone(), a.clone(), b.clone()].concat()
        );
        assert!(stream.pass(&a, true).is_empty());
        assert_eq!(stream.pass(&b, false), [a, b].concat());
    }

    #[test]
    fn two_notifications_are_repeated_in_another_order() {
        let messages = [(b'A', "a"), (b'A', "bb"), (b'Z', "I")].map(|(k, t)| of_postgres(k, t));
        let mut stream = ServerStream::new(Protocol::Postgres);
        assert_eq!(stream.pass(b"N", true), b"N");
        is_shuffled(stream, messages);
    }

    #[test]
    fn two_messages_are_repeated_in_another_order() {
        let messages = [of_redis("a"), of_redis("bb"), b"+OK\r\n".to_vec()];
        is_shuffled(ServerStream::new(Protocol::Redis), messages);
    }
}
