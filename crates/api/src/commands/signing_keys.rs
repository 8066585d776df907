//! What the commands on signing keys do, on the store itself.

use anyhow::Result;
use application::access::server::{PreviousKeys, SigningKeys};
use domain::{SigningKey, Timestamp};
use tokio_util::task::TaskTracker;

use super::{
    print_line,
    store::{self, WhereNoneIs},
};
use crate::{
    cli::{SigningKeyRotationOptions, SigningKeysCommand},
    settings::Settings,
    wiring,
};

/// Carries out a command on signing keys.
pub(super) async fn signing_keys(settings: &Settings, command: SigningKeysCommand) -> Result<()> {
    let store = store::open(settings, WhereNoneIs::Fail, &TaskTracker::new()).await?;
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
    for key in keys.list().await? {
        print_line(&described(&key, now))?;
    }
    Ok(())
}

async fn rotate(keys: &SigningKeys, options: SigningKeyRotationOptions) -> Result<()> {
    let previous = if options.drop_old {
        PreviousKeys::Drop
    } else {
        PreviousKeys::Overlap
    };
    print_line(&keys.rotate(previous).await?)
}

fn described(key: &SigningKey, now: Timestamp) -> String {
    let state = match key.valid_until {
        None => "signs".to_owned(),
        Some(end) if now < end => format!("counts until {end}"),
        Some(end) => format!("ended {end}"),
    };
    let storage = if key.is_sealed {
        "encrypted"
    } else {
        "as it is"
    };
    format!(
        "{}  since {}  {state}  stored {storage}",
        key.kid, key.created_at
    )
}
