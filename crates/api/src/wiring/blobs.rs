//! The blob store that the configuration names.

use std::{env, sync::Arc};

use anyhow::{Context, Result, bail};
use blob_store::BlobStoreAddress;
use domain::BlobStoreId;
use ports::{BlobStore, IdSource};

use super::{Parts, Store};

/// Opens the blob store, and checks that it belongs to the database. Returns `None` if there is none, and in far
/// regions, which read contents at home.
pub(super) async fn open(
    parts: &Parts<'_>,
    ids: &Arc<dyn IdSource>,
) -> Result<Option<Arc<dyn BlobStore>>> {
    if parts.peers.home.is_some() {
        return Ok(None);
    }
    let Some(address) = address(parts)? else {
        tracing::warn!("files are unavailable: FILES__URL is not set");
        return Ok(None);
    };
    let blobs = blob_store::open(&address, env::vars_os(), &parts.tasks).context("FILES__URL")?;
    check(parts, &blobs, ids).await.context("FILES__URL")?;
    Ok(Some(Arc::new(blobs)))
}

/// The configured address, or a folder beside the file of the database.
fn address(parts: &Parts<'_>) -> Result<Option<BlobStoreAddress>> {
    if let Some(address) = &parts.settings.files.url {
        return Ok(Some(address.clone()));
    }
    let file = Store::file(&parts.settings.database.url)?;
    Ok(file.map(|file| {
        let mut folder = file.into_os_string();
        folder.push("-files");
        BlobStoreAddress::Folder(folder.into())
    }))
}

/// Checks that the blob store is that of the database: a cleanup would delete the contents of another one. An empty
/// store gets the id that the database has.
async fn check(parts: &Parts<'_>, blobs: &dyn BlobStore, ids: &Arc<dyn IdSource>) -> Result<()> {
    let files = &parts.storage.files;
    let mut bytes = [0; 16];
    ids.fill_random(&mut bytes);
    let expected = files
        .record_blob_store(BlobStoreId::from_random(bytes))
        .await?;
    let id = match blobs.id().await? {
        Some(id) => id,
        None if files.has_any().await? => bail!("the contents of the files are not there"),
        None => blobs.claim(expected).await?,
    };
    if id != expected {
        bail!("the files there belong to another database");
    }
    Ok(())
}
