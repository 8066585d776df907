//! The blob store that the configuration names.

use std::{env, sync::Arc};

use anyhow::{Context, Result, bail};
use blob_store::BlobStoreAddress;
use domain::{BlobStoreId, LinkSecret};
use kit::readiness::Check;
use ports::{BlobStore, IdSource};

use super::{Parts, Store};
use crate::settings::Settings;

/// The message for operators of a service without files.
pub const NO_FILES: &str = "files are unavailable: FILES__URL is not set";

/// Opens the blob store, and checks that it belongs to the database. Returns `None` if there is none, and in far
/// regions, which read contents at home.
pub(super) async fn open(
    parts: &Parts<'_>,
    ids: &Arc<dyn IdSource>,
) -> Result<Option<Arc<dyn BlobStore>>> {
    if parts.peers.home.is_some() {
        return Ok(None);
    }
    let Some(address) = address(parts.settings)? else {
        return Ok(None);
    };
    let blobs = blob_store::open(&address, env::vars_os(), &parts.tasks).context("FILES__URL")?;
    check_owner(parts, &blobs, ids)
        .await
        .context("FILES__URL")?;
    Ok(Some(Arc::new(blobs)))
}

/// Returns whether the service has files. Far regions have those of home.
pub fn has_files(settings: &Settings) -> Result<bool> {
    Ok(settings.region.home.is_some() || address(settings)?.is_some())
}

/// Returns the check that shows that there are no files.
pub(super) fn check(settings: &Settings) -> Result<Option<Check>> {
    Ok((!has_files(settings)?).then(|| Check::new("files", || false)))
}

/// The configured address, or a folder beside the file of the database.
fn address(settings: &Settings) -> Result<Option<BlobStoreAddress>> {
    if let Some(address) = &settings.files.url {
        return Ok(Some(address.clone()));
    }
    let file = Store::file(&settings.database.url)?;
    Ok(file.map(|file| {
        let mut folder = file.into_os_string();
        folder.push("-files");
        BlobStoreAddress::Folder(folder.into())
    }))
}

/// Checks that the blob store is that of the database: a cleanup would delete the contents of another one. An empty
/// store gets the id that the database has.
async fn check_owner(
    parts: &Parts<'_>,
    blobs: &dyn BlobStore,
    ids: &Arc<dyn IdSource>,
) -> Result<()> {
    let files = &parts.storage.files;
    let mut bytes = [0; 16];
    ids.fill_random(&mut bytes);
    let expected = files
        .record_blob_store(BlobStoreId::from_random(bytes))
        .await?;
    let id = match blobs.id().await? {
        Some(id) => id,
        None if files.has_any().await? => bail!("the store is empty, but the database has files"),
        None => blobs.claim(expected).await?,
    };
    if id != expected {
        bail!("the store has the contents of another database");
    }
    let mut secret = [0; 32];
    ids.fill_random(&mut secret);
    files.record_link_secret(&LinkSecret::new(secret)).await?;
    Ok(())
}
