//! Links to contents, which need no credential.

use std::{ops::Range, sync::Arc};

use domain::{
    File, FileId, FileLink, LinkSecret, Principal, RegionEntry, TenantId,
    file_link::{self, LINK_LIFE},
};
use parking_lot::RwLock;
use ports::BlobStream;
use tokio::sync::OnceCell;

use super::{FileError, FileService};

/// The links of a service to its files.
pub struct FileLinks {
    public_url: String,
    /// The regions, all of which serve each file.
    regions: Arc<RwLock<Vec<RegionEntry>>>,
    /// The recorded secret. It never changes.
    secret: OnceCell<LinkSecret>,
}

impl FileLinks {
    /// Creates links that begin with this URL. The addresses of all `regions` are recognised.
    pub fn new(public_url: String, regions: Arc<RwLock<Vec<RegionEntry>>>) -> Self {
        Self {
            public_url,
            regions,
            secret: OnceCell::new(),
        }
    }
}

impl FileService {
    /// Returns a link to the content of a file that the caller may read.
    pub async fn link(&self, caller: &Principal, id: FileId) -> Result<FileLink, FileError> {
        self.find_stored(caller, id).await?;
        self.link_to(&caller.tenant, id).await
    }

    /// Returns a link to the content of a file that its reader is known to see, such as one of a message.
    pub async fn link_to(&self, tenant: &TenantId, id: FileId) -> Result<FileLink, FileError> {
        let expires_at = self.ports.clock.now() + LINK_LIFE;
        let link = self.link_secret().await?.sign(tenant, id, expires_at);
        let (server, path) = (&self.links.public_url, file_link::content_path(id));
        Ok(FileLink {
            url: format!("{server}{path}?link={link}"),
            expires_at,
        })
    }

    /// Returns the file whose content is at this address of the service, in any of its regions. Whether a link in
    /// it is valid does not matter.
    pub fn file_of_address(&self, address: &str) -> Option<FileId> {
        let regions = self.links.regions.read();
        let regions = regions.iter().map(|region| region.url.as_str());
        let servers = [self.links.public_url.as_str()].into_iter().chain(regions);
        file_link::file_of_address(address, servers)
    }

    /// Returns a file and its content for a link, as [`Self::content`] does for a caller.
    pub async fn linked_content(
        &self,
        link: &str,
        id: FileId,
        range: impl FnOnce(&File) -> Range<u64>,
    ) -> Result<(File, BlobStream), FileError> {
        let now = self.ports.clock.now();
        let tenant = self.link_secret().await?.verify(link, id, now);
        let tenant = tenant.ok_or(FileError::NotFound)?;
        let found = self.ports.files.find(&tenant, &[id]).await?.pop();
        let found = found.filter(|file| file.exists(now));
        self.read(found.ok_or(FileError::NotFound)?, range).await
    }

    async fn link_secret(&self) -> Result<&LinkSecret, FileError> {
        let read = async || {
            let recorded = self.ports.files.link_secret().await?;
            recorded.ok_or_else(|| FileError::Unavailable("no secret of links is recorded".into()))
        };
        self.links.secret.get_or_try_init(read).await
    }
}
