//! The store that a command works on.

use anyhow::{Result, bail};
use tokio_util::task::TaskTracker;

use super::print_note;
use crate::{settings::Settings, wiring::Store};

/// The behaviour of a command if the store does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfStoreMissing {
    /// Creates the store: the command can write the first data.
    Create,
    /// Fails: a new store contains nothing for the command.
    Fail,
}

/// Opens the store for a command, beside a server that may be running. A store on which no server
/// has ever started is migrated first. Prints on stderr which store it is, because in another
/// directory, or without its variable, it may not be the intended one.
pub(super) async fn open(
    settings: &Settings,
    if_missing: IfStoreMissing,
    tasks: &TaskTracker,
) -> Result<Store> {
    if settings.region.home.is_some() {
        bail!(
            "the store of a far region is a replica, which cannot be changed; run the command in the \
             home region"
        );
    }
    let file = Store::file(&settings.database.url)?;
    let description = match &file {
        None => settings.database.url.to_string(),
        Some(file) if file.exists() => file.display().to_string(),
        Some(file) if if_missing == IfStoreMissing::Create => {
            format!(
                "{} (new: a server that was started in another directory has another store)",
                file.display()
            )
        }
        Some(file) => bail!(
            "no store exists at {}; set DATABASE_URL to the intended store, or change to the directory \
             in which its server was started",
            file.display()
        ),
    };
    print_note(&format!("store: {description}"));
    let store = Store::open(&settings.database, false, tasks).await?;
    if store.pending_migrations().await? == 0 {
        return Ok(store);
    }
    store.close().await;
    let store = Store::open(&settings.database, true, tasks).await?;
    store.migrate().await?;
    Ok(store)
}
