//! Names and passwords that nobody guesses.

use std::{fmt::Write as _, fs::File, io::Read as _};

use anyhow::{Context as _, Result};

/// 32 hexadecimal digits: others on this machine must not become superuser on our server.
pub(super) fn random_word() -> Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(bytes.iter().fold(String::new(), |mut word, byte| {
        // Writing to a string does not fail.
        let _ = write!(word, "{byte:02x}");
        word
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_hexadecimal_and_differ() {
        let word = random_word().unwrap();
        assert_eq!(word.len(), 32);
        assert!(word.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(word, random_word().unwrap());
    }
}
