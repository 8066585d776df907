//! The arguments of the commands on the keys that sign access tokens.

use clap::{Args, Subcommand};

/// The commands on the keys that sign access tokens.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum SigningKeysCommand {
    /// List the keys whose signatures are valid, or were until recently, newest first
    List,
    /// Create a new key that signs from now on; running servers use it within a second
    ///
    /// Signatures of the previous keys stay valid for another hour. The new key is encrypted with
    /// `AUTH__ENCRYPTION_KEY` as set for this command. The previous keys are not read, so this also
    /// works if their encryption key is lost.
    Rotate(SigningKeyRotationOptions),
}

/// The options of the rotation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct SigningKeyRotationOptions {
    /// Reject all signatures of the previous keys at once: for a key that was stolen
    #[arg(long)]
    pub drop_old: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Command, tests::command};

    #[test]
    fn old_signing_keys_are_dropped_only_on_request() {
        for (arguments, drop_old) in [
            ("signing-keys rotate", false),
            ("signing-keys rotate --drop-old", true),
        ] {
            let options = SigningKeyRotationOptions { drop_old };
            let expected = Command::SigningKeys(SigningKeysCommand::Rotate(options));
            assert_eq!(command(arguments), expected);
        }
    }
}
