//! Files.

use async_trait::async_trait;
use domain::{
    BlobKey, BlobStoreId, FileId, LinkSecret, PrincipalId, StoredFile, TenantId, Timestamp, Uploads,
};
use ports::{FileRepository, RepositoryError};
use uuid::Uuid;

use super::Repositories;
use crate::{
    Parameter, Store, page_budget, parameters,
    read::{self, ReadAs},
    statements,
    stored::{
        self, StoredFileRow, StoredLinkSecret,
        facts::{self, StoredUploads},
    },
};

/// The statements on files. Lists of ids are written differently on each database.
pub trait FileSql:
    Store<
    Row: ReadAs<StoredFileRow> + ReadAs<(Uuid,)> + ReadAs<StoredLinkSecret> + ReadAs<StoredUploads>,
>
{
    statements! {
        /// The files 2 of tenant 1 in the order of their ids, each with every conversation that uses it and is
        /// not deleted.
        const FIND: &'static str;

        /// Forgets the deleted contents 1.
        const FORGET_BLOBS: &'static str;

        /// Those of the contents 1 that belong to files.
        const KNOWN_BLOBS: &'static str;
    }
}

statements! {
    const ANY: &str = "select blob from files where blob > $1 order by blob limit 1";

    const BLOB_STORE: &str = "select id from blob_stores";

    const RECORD_BLOB_STORE: &str =
        "insert into blob_stores (id) values ($1) on conflict (is_only) do nothing";

    const RECORD_LINK_SECRET: &str =
        "update blob_stores set link_secret = $1 where link_secret is null";

    const LINK_SECRET: &str = "select link_secret from blob_stores";

    const UPLOADS: &str = "select tenant_id, principal, ends_at, files, bytes from uploads \
        where tenant_id = $1 and principal = $2 and ends_at = $3";

    const DELETED_BLOBS: &str = "select blob from deleted_blobs order by blob limit $1";
}

#[async_trait]
impl<S: FileSql> FileRepository for Repositories<S> {
    async fn find(
        &self,
        tenant: &TenantId,
        ids: &[FileId],
    ) -> Result<Vec<StoredFile>, RepositoryError> {
        let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
        let parameters = parameters![tenant, &*ids];
        let rows = self.0.fetch_all(S::FIND, parameters).await?;
        let rows: Vec<StoredFileRow> = read::rows("files", rows, Ok)?;
        let mut files = Vec::new();
        for row in rows {
            row.add_to(&mut files)?;
        }
        Ok(files)
    }

    async fn deleted_blobs(&self, limit: usize) -> Result<Vec<BlobKey>, RepositoryError> {
        let limit = page_budget::row_count(limit);
        let rows = self.0.fetch_own(DELETED_BLOBS, &[limit.into()]).await?;
        read::rows("deleted_blobs", rows, |(blob,): (Uuid,)| {
            Ok(BlobKey::new(blob))
        })
    }

    async fn forget_blobs(&self, blobs: &[BlobKey]) -> Result<(), RepositoryError> {
        let blobs = uuids(blobs);
        let blobs = Parameter::Ids(Some(&blobs));
        self.0.execute(S::FORGET_BLOBS, &[blobs]).await?;
        Ok(())
    }

    async fn has_any(&self) -> Result<bool, RepositoryError> {
        let rows = self.0.fetch_own(ANY, &[Uuid::nil().into()]).await?;
        Ok(!rows.is_empty())
    }

    async fn record_blob_store(&self, id: BlobStoreId) -> Result<BlobStoreId, RepositoryError> {
        self.0
            .execute(RECORD_BLOB_STORE, &[id.uuid().into()])
            .await?;
        let rows = self.0.fetch_own(BLOB_STORE, &[]).await?;
        let convert = |(id,): (Uuid,)| Ok(BlobStoreId::new(id));
        let recorded = read::one("blob_stores", rows.into_iter().next(), convert)?;
        Ok(recorded.unwrap_or(id))
    }

    async fn record_link_secret(&self, secret: &LinkSecret) -> Result<(), RepositoryError> {
        let secret = Parameter::Bytes(secret.reveal());
        self.0.execute(RECORD_LINK_SECRET, &[secret]).await?;
        Ok(())
    }

    async fn link_secret(&self) -> Result<Option<LinkSecret>, RepositoryError> {
        let rows = self.0.fetch_own(LINK_SECRET, &[]).await?;
        let secret = read::one("blob_stores", rows.into_iter().next(), stored::link_secret)?;
        Ok(secret.flatten())
    }

    async fn uploads(
        &self,
        tenant: &TenantId,
        principal: &PrincipalId,
        ends_at: Timestamp,
    ) -> Result<Uploads, RepositoryError> {
        let parameters = parameters![tenant, principal.as_str(), ends_at];
        let rows = self.0.fetch_own(UPLOADS, parameters).await?;
        let counted = read::one("uploads", rows.into_iter().next(), facts::uploads)?;
        Ok(counted.map(|(_, uploads)| uploads).unwrap_or_default())
    }

    async fn known_blobs(&self, blobs: &[BlobKey]) -> Result<Vec<BlobKey>, RepositoryError> {
        let blobs = uuids(blobs);
        let blobs = Parameter::Ids(Some(&blobs));
        let rows = self.0.fetch_own(S::KNOWN_BLOBS, &[blobs]).await?;
        read::rows("files", rows, |(blob,): (Uuid,)| Ok(BlobKey::new(blob)))
    }
}

fn uuids(blobs: &[BlobKey]) -> Vec<Uuid> {
    blobs.iter().map(|blob| blob.uuid()).collect()
}
