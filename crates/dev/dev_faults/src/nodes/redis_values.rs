//! The values in the stream of a Redis server (RESP2 and RESP3).

/// The type of a value that is not a response.
const PUSH: u8 = b'>';
/// The kind of the pushed values that carry messages of sharded channels.
const MESSAGE: &[u8] = b"\r\nsmessage\r\n";
const END_OF_LINE: &[u8] = b"\r\n";

/// Returns the length of the first value in bytes, once it is complete.
pub(super) fn first_value(bytes: &[u8]) -> Option<usize> {
    let kind = *bytes.first()?;
    let line = bytes.windows(2).position(|it| it == END_OF_LINE)?;
    let mut length = line + END_OF_LINE.len();
    let number = || str::from_utf8(&bytes[1..line]).ok()?.parse::<usize>().ok();
    // A number below zero, or none, means an absent value.
    let values = match kind {
        b'$' | b'=' | b'!' => {
            length += number().map_or(0, |bytes| bytes + END_OF_LINE.len());
            0
        }
        b'*' | b'~' | PUSH => number().unwrap_or_default(),
        b'%' | b'|' => 2 * number().unwrap_or_default(),
        _ => 0,
    };
    for _ in 0..values {
        length += first_value(bytes.get(length..)?)?;
    }
    (length <= bytes.len()).then_some(length)
}

/// Returns true if a value carries a message of a sharded channel.
pub(super) fn is_message(value: &[u8]) -> bool {
    let has_kind = |value: &[u8]| value.windows(MESSAGE.len()).any(|it| it == MESSAGE);
    value.first() == Some(&PUSH) && has_kind(&value[..value.len().min(2 * MESSAGE.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNAL: &[u8] = b">3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n$4\r\n\r\n12\r\n";

    #[test]
    fn a_value_ends_with_its_last_part() {
        for value in [
            SIGNAL,
            b"+OK\r\n",
            b":12\r\n",
            b"_\r\n",
            b"$-1\r\n",
            b"$0\r\n\r\n",
            b"*0\r\n",
            b"%2\r\n+a\r\n:1\r\n+b\r\n*2\r\n$1\r\n\n\r\n#t\r\n",
        ] {
            let more = [value, b"+OK\r\n"].concat();
            assert_eq!(first_value(&more), Some(value.len()), "{value:?}");
            for end in 0..value.len() {
                assert_eq!(first_value(&value[..end]), None, "{:?}", &value[..end]);
            }
        }
    }

    #[test]
    fn only_pushed_messages_are_messages() {
        assert!(is_message(SIGNAL));
        for other in [
            b">3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n".as_slice(),
            b"$8\r\nsmessage\r\n",
        ] {
            assert!(!is_message(other));
        }
    }
}
