//! The commands on signing keys, which work directly on the store.

use access::signing_keys::{PreviousKeys, SigningKeys, dropped_at};
use anyhow::Result;
use domain::{SigningKey, Timestamp};
use tokio_util::task::TaskTracker;

use super::{
    print_line, print_note,
    store::{self, IfStoreMissing},
};
use crate::{
    cli::{SigningKeyRotationOptions, SigningKeysCommand},
    settings::Settings,
    wiring,
};

/// Executes a command on signing keys.
pub(super) async fn signing_keys(settings: &Settings, command: SigningKeysCommand) -> Result<()> {
    let store = store::open(settings, IfStoreMissing::Fail, &TaskTracker::new()).await?;
    let (clock, ids) = wiring::system();
    let keys = wiring::signing_keys(settings, &store.storage(), &clock, &ids);
    let outcome = match command {
        SigningKeysCommand::List => list(&keys, clock.now()).await,
        SigningKeysCommand::Rotate(options) => rotate(&keys, options).await,
    };
    store.close().await;
    outcome
}

async fn list(keys: &SigningKeys, now: Timestamp) -> Result<()> {
    let keys = keys.list().await?;
    for (index, key) in keys.iter().enumerate() {
        print_line(&describe(key, &keys[..index], now))?;
    }
    Ok(())
}

async fn rotate(keys: &SigningKeys, options: SigningKeyRotationOptions) -> Result<()> {
    let previous = if options.drop_old {
        PreviousKeys::Drop
    } else {
        PreviousKeys::Overlap
    };
    let kid = keys.rotate(previous).await?;
    if let [newest, before, ..] = &keys.list().await?[..]
        && before.is_sealed
        && !newest.is_sealed
    {
        print_note(
            "warning: AUTH__ENCRYPTION_KEY is not set, so the new key is stored unencrypted, \
             unlike the previous one; set it and rotate again to encrypt it",
        );
    }
    print_line(&kid)
}

/// Returns the line for a key in a listing. `newer` are the keys after it.
fn describe(key: &SigningKey, newer: &[SigningKey], now: Timestamp) -> String {
    let state = match (key.valid_until, dropped_at(key, newer)) {
        (None, _) => "signs".to_owned(),
        (_, Some(at)) => format!("dropped {at}"),
        (Some(end), None) if now < end => format!("valid until {end}"),
        (Some(end), None) => format!("ended {end}"),
    };
    let storage = if key.is_sealed {
        "encrypted"
    } else {
        "unencrypted"
    };
    format!(
        "{}  since {}  {state}  stored {storage}",
        key.kid, key.created_at
    )
}
