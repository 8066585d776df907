//! The store that a command works on.

use anyhow::{Result, bail};
use tokio_util::task::TaskTracker;

use super::print_note;
use crate::{settings::Settings, wiring::Store};

/// What a command does where there is no store yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhereNoneIs {
    /// Makes one: what it writes can be the first in it.
    Make,
    /// Fails: a new store has nothing of what the command is about.
    Fail,
}

/// Opens the store for a command on it, beside a server that may be running; a store that no
/// server has ever started on is migrated first. Says on stderr which store that is: in another
/// folder, or without its variable, it is not the one that somebody has in mind.
pub(super) async fn open(
    settings: &Settings,
    where_none_is: WhereNoneIs,
    tasks: &TaskTracker,
) -> Result<Store> {
    let file = Store::file(&settings.database)?;
    let said = match &file {
        None => settings.database.to_string(),
        Some(file) if file.exists() => file.display().to_string(),
        Some(file) if where_none_is == WhereNoneIs::Make => {
            format!("{}, which is new: there was none", file.display())
        }
        Some(file) => bail!(
            "there is no store at {}; set DATABASE_URL to the one you mean, or go to the folder \
             in which its server was started",
            file.display()
        ),
    };
    print_note(&format!("store: {said}"));
    let store = Store::open(&settings.database, false, tasks).await?;
    if store.pending_migrations().await? == 0 {
        return Ok(store);
    }
    store.close().await;
    let store = Store::open(&settings.database, true, tasks).await?;
    store.migrate().await?;
    Ok(store)
}
