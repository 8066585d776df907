//! The commands on the keys that sign access tokens.

use clap::{Args, Subcommand};

/// What to do with the keys that sign access tokens.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum SigningKeysCommand {
    /// List the keys whose signatures count, or did until lately, newest first
    List,
    /// Make a new key that signs from now on; running servers follow within a second
    ///
    /// What the keys before signed counts for another hour. The new key is encrypted with
    /// `AUTH__ENCRYPTION_KEY` as it is set for this command; the keys before are not read, so this
    /// also helps when theirs is lost.
    Rotate(SigningKeyRotationOptions),
}

/// How to rotate the keys that sign access tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct SigningKeyRotationOptions {
    /// Refuse at once whatever the keys before signed: for a key that was stolen
    #[arg(long)]
    pub drop_old: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Command, tests::command};

    #[test]
    fn old_signing_keys_are_dropped_only_when_asked_for() {
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
