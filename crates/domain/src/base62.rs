//! Base62 (digits, upper case, lower case): a double click selects such a text as a whole.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Encodes the big-endian number `bytes` with exactly `digits` digits. Digits that do not fit are
/// cut off on the left.
pub fn encode(bytes: &[u8], digits: usize) -> String {
    let mut number = bytes.to_vec();
    let mut text = vec![b'0'; digits];
    for digit in text.iter_mut().rev() {
        let mut remainder = 0_u32;
        for byte in &mut number {
            let value = remainder * 256 + u32::from(*byte);
            *byte = u8::try_from(value / 62).unwrap_or(u8::MAX);
            remainder = value % 62;
        }
        *digit = ALPHABET[remainder as usize];
    }
    text.into_iter().map(char::from).collect()
}

/// Returns `true` if `text` has only base62 digits.
pub fn is_base62(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_encoded_with_leading_zeros() {
        assert_eq!(encode(&[0], 3), "000");
        assert_eq!(encode(&[61], 3), "00z");
        assert_eq!(encode(&[62], 3), "010");
        assert_eq!(encode(&u32::MAX.to_be_bytes(), 6), "4gfFC3");
    }

    #[test]
    fn two_hundred_fifty_six_bits_fit_into_43_digits() {
        let text = encode(&[0xff; 32], 44);
        assert!(text.starts_with('0') && !text[1..].starts_with('0'));
        assert!(is_base62(&text));
    }
}
