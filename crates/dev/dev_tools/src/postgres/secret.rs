//! Random names and passwords.

use std::{fmt::Write as _, fs::File, io::Read as _};

use anyhow::{Context as _, Result};

/// Returns 32 random hexadecimal digits: other users of this machine must not guess the superuser's
/// password.
pub(super) fn random_hex() -> Result<String> {
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
