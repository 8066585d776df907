//! The notifications in the stream of a Postgres server.

/// Bytes of the type and the length of a message.
const HEAD_BYTES: usize = 5;
/// The type of a notification.
const NOTIFICATION: u8 = b'A';
/// The whole response to a client that asks for TLS, if the server has none.
const NO_TLS: u8 = b'N';

/// The stream of a Postgres server, whose notifications can be repeated in another order.
#[derive(Default)]
pub(super) struct ServerStream {
    has_started: bool,
    /// The beginning of a message.
    incomplete: Vec<u8>,
    /// A notification that comes after the next one.
    held: Option<Vec<u8>>,
}

impl ServerStream {
    /// Takes the next bytes of the server, and returns those that the client is to receive. With
    /// `shuffled`, two notifications a, b become b, a, b.
    pub(super) fn pass(&mut self, bytes: &[u8], shuffled: bool) -> Vec<u8> {
        let mut passed = Vec::with_capacity(bytes.len());
        self.incomplete.extend_from_slice(bytes);
        if !std::mem::replace(&mut self.has_started, true) && bytes.starts_with(&[NO_TLS]) {
            passed.push(self.incomplete.remove(0));
        }
        if !shuffled {
            passed.extend(self.held.take().unwrap_or_default());
        }
        while let Some(message) = self.next_message() {
            if !shuffled || message.first() != Some(&NOTIFICATION) {
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

    fn next_message(&mut self) -> Option<Vec<u8>> {
        let length = self.incomplete.get(1..HEAD_BYTES)?.try_into().ok()?;
        // The length includes itself, but not the type.
        let bytes = usize::try_from(u32::from_be_bytes(length)).ok()? + 1;
        let is_complete = self.incomplete.len() >= bytes;
        is_complete.then(|| self.incomplete.drain(..bytes).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len() + 4).unwrap();
        [&[kind], length.to_be_bytes().as_slice(), text.as_bytes()].concat()
    }

    #[test]
    fn two_notifications_are_repeated_in_another_order() {
        let [a, b, other] = [(b'A', "a"), (b'A', "bb"), (b'Z', "I")].map(|(k, t)| message(k, t));
        let mut stream = ServerStream::default();
        assert_eq!(stream.pass(b"N", true), b"N");
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
}
