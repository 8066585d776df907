//! Messages of Postgres' protocol, as far as writes are found in them.

use std::collections::BTreeMap;

/// The code of the message that starts a session.
const PROTOCOL_3: u32 = 196_608;

/// A kind of write, recognised by its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    /// Entries of a turn's journal.
    Steps,
    /// The end of a turn.
    End,
    /// A turn that goes on.
    Assignment,
}

impl Write {
    const ALL: [Self; 3] = [Self::Steps, Self::End, Self::Assignment];

    fn is_in(self, statement: &str) -> bool {
        match self {
            Self::Steps => {
                statement.contains("insert into turn_steps")
                    || statement.contains("update turn_steps")
            }
            Self::End => statement.contains("update turns set status = n.status"),
            Self::Assignment => statement.contains("update turns set node_id = n.node"),
        }
    }
}

/// Removes the first complete message. The first ones of a connection have no type.
pub(super) fn take(buffer: &mut Vec<u8>, is_typed: bool) -> Option<Vec<u8>> {
    let start = usize::from(is_typed);
    let length = buffer.get(start..start + 4)?.try_into().ok()?;
    let end = start + usize::try_from(u32::from_be_bytes(length)).ok()?;
    (buffer.len() >= end).then(|| buffer.drain(..end).collect())
}

/// Returns true if a message starts a session. Others before it ask for encryption.
pub(super) fn is_start(message: &[u8]) -> bool {
    message.get(4..8) == Some(&PROTOCOL_3.to_be_bytes())
}

/// The prepared statements of a connection, by their names.
#[derive(Default)]
pub(super) struct Statements(BTreeMap<Vec<u8>, Vec<Write>>);

impl Statements {
    /// Remembers a statement that a message prepares, or returns the kinds of writes that it runs.
    pub(super) fn writes(&mut self, message: &[u8]) -> Option<&[Write]> {
        let mut texts = message.get(5..)?.split(|byte| *byte == 0);
        match message[0] {
            b'P' => {
                let (name, statement) = (texts.next()?, texts.next()?);
                let statement = String::from_utf8_lossy(statement);
                let kinds = Write::ALL.into_iter().filter(|it| it.is_in(&statement));
                self.0.insert(name.to_vec(), kinds.collect());
                None
            }
            b'B' => self.0.get(texts.nth(1)?).map(Vec::as_slice),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, texts: &[&str]) -> Vec<u8> {
        let body: Vec<u8> = texts
            .iter()
            .flat_map(|it| [it.as_bytes(), &[0]].concat())
            .collect();
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind][..], &length, &body].concat()
    }

    #[test]
    fn finds_the_write_that_a_prepared_statement_runs() {
        let mut statements = Statements::default();
        let parse = message(b'P', &["s1", "with a as (insert into turn_steps select 1)"]);
        assert_eq!(statements.writes(&parse), None);
        let bind = message(b'B', &["", "s1"]);
        assert_eq!(statements.writes(&bind), Some(&[Write::Steps][..]));
        assert_eq!(statements.writes(&message(b'B', &["", "s2"])), None);
    }

    #[test]
    fn takes_complete_messages_only() {
        let whole = message(b'B', &["", "s1"]);
        let mut buffer = [&whole[..], &whole[..3]].concat();
        assert_eq!(take(&mut buffer, true), Some(whole.clone()));
        assert_eq!(take(&mut buffer, true), None);
        assert_eq!(buffer, whole[..3]);
    }
}
